import type { AnyModel } from "@anywidget/types";
import { beforeEach, expect, test, vi } from "vitest";
import loader from "../src/loader";

type Model = AnyModel<{ module: string; module_id: string }>;
const page = globalThis as { evaluated?: string[] };
const model = (module: string, module_id: string) =>
  ({ get: (name: string) => ({ module, module_id })[name] }) as unknown as Model;
const text = (name: string) => `
  globalThis.evaluated.push("${name}");
  export default () => {
    let begun = "";
    return {
      initialize: () => { begun = "${name}"; },
      render: ({ el }) => { el.textContent = begun; return () => el.replaceChildren(); },
    };
  };`;

beforeEach(() => {
  page.evaluated = [];
  // Node imports no blobs: their text goes into the address itself.
  const texts: string[] = [];
  vi.stubGlobal(
    "Blob",
    class {
      constructor([part]: string[]) {
        texts.push(part!);
      }
    },
  );
  URL.createObjectURL = () => `data:text/javascript,${encodeURIComponent(texts.at(-1)!)}`;
  URL.revokeObjectURL = vi.fn();
});

async function shown(of: Model): Promise<string> {
  const widget = loader();
  await widget.initialize({ model: of });
  const el = document.createElement("div");
  const drop = widget.render({ model: of, el });
  const said = el.textContent;
  drop();
  return said;
}

test("the same module is imported once, for however many widgets", async () => {
  const both = await Promise.all([shown(model(text("a"), "1")), shown(model(text("a"), "1"))]);
  expect(both).toEqual(["a", "a"]);
  expect(await shown(model(text("a"), "1"))).toBe("a");
  expect(page.evaluated).toEqual(["a"]);
  expect(await shown(model(text("b"), "2"))).toBe("b");
  expect(page.evaluated).toEqual(["a", "b"]);
});

test("widgets of a kernel take the module from the one model that they refer to", async () => {
  const code = { get: () => text("e") };
  const get_model = vi.fn(async (_id: string) => code);
  const widget_manager = { get_model };
  const traits = { module: "", module_id: "5", code: "IPY_MODEL_abc" };
  const get = (name: keyof typeof traits) => traits[name];
  expect(await shown({ get, widget_manager } as unknown as Model)).toBe("e");
  expect(await shown({ get, widget_manager } as unknown as Model)).toBe("e");
  expect(page.evaluated).toEqual(["e"]);
  // Each time: it brings the style along.
  expect(get_model.mock.calls).toEqual([["abc"], ["abc"]]);
});

test("a model that is gone keeps nothing large", async () => {
  const of = model(text("d"), "4");
  const set = vi.fn();
  const gone = new AbortController();
  await loader().initialize({ model: { ...of, set } as unknown as Model, signal: gone.signal });
  expect(set).not.toHaveBeenCalled();
  gone.abort();
  const kept = new Set(set.mock.calls.map(([name, value]) => value || name));
  expect(kept).toContain("module");
  expect(kept).toContain("payload");
  expect(set.mock.calls.every(([, , options]) => options.silent)).toBe(true);
});

test("a module that failed is tried again", async () => {
  await expect(shown(model("throw new Error('torn')", "3"))).rejects.toThrow("torn");
  expect(await shown(model(text("c"), "3"))).toBe("c");
});

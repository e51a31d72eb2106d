/** The language of the page: what the widget says comes from the bundle that the page shares, all of it. */

import { nullTranslator } from "@jupyterlab/translation";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { mount } from "../src/mount";
import type { Model } from "../src/state/widget_model";
import { createGraphView } from "../src/view/graph";
import { share, trans, type Words } from "../src/words";
import { FakeModel, named, showText } from "./fake";
import { type Name, payload } from "./fixtures";

/** Letters of another script, so that those that are left are of texts that nobody translated. */
const inScript = (text: string, first: number) =>
  text.replace(/[a-z]/gi, (letter) =>
    String.fromCharCode(first + (letter.toLowerCase().charCodeAt(0) - 97)),
  );
const translated = (text: string) => inScript(text, "а".charCodeAt(0));
const given = (text: string) => inScript(text, "α".charCodeAt(0));

const english = nullTranslator.load("");
const cyrillic: Words = {
  __: (text, ...values) => english.__(translated(text), ...values),
  _n: (one, many, n, ...values) => english._n(translated(one), translated(many), n, ...values),
};

/** What the code reads, and does not only show. */
const READ = new Set([
  ...["op", "function", "step", "autograd", "parameter", "buffer", "input", "gradient"],
  ...["activation", "data", "severed", "modified", "enabled", "no_grad", "inference_mode"],
  ...["valid", "freed", "packed", "unverifiable", "optimized", "frozen", "orphan", "no state"],
  ...["mode", "backward", "change", "scalar", "peak"],
]);
const FIELDS = new Set(["severity", "applicability", "width", "values"]);

/** What came from the kernel is not translated: it is in a script of its own here. */
function greek(value: unknown, field = ""): unknown {
  if (typeof value === "string") {
    const read = FIELDS.has(field) || (/^(strings|label)$/.test(field) && READ.has(value));
    return read ? value : given(value);
  }
  if (Array.isArray(value)) return value.map((one) => greek(one, field));
  if (typeof value !== "object" || value === null) return value;
  const named = (name: string) => (field === "groups" ? given(name) : name);
  const entries = Object.entries(value).map(([name, one]) => [named(name), greek(one, name)]);
  return Object.fromEntries(entries);
}

function traits(name: Name): Record<string, unknown> {
  const { text, buffer } = payload(name);
  return { payload: JSON.stringify(greek(JSON.parse(text))), buffer };
}

/** Units, file formats, and names of things in code; of the program those that are terms of the wire as well. */
const NAMES = new RegExp(
  [
    /\b(SVG|PNG|DOT|JSON|HTML|CSV|(autograd|vitals)\.\w+)\b/,
    /\b(kB|MB|ms|NaN|torch|autograd|autograd_inspector|grad_fn|no_grad|scalar|peak)\b/,
    /report\.widget\(compare=other_report\)/,
    /: nodes$|^step(?=,|$)|\bbackward$|\binput(?=: )/,
  ]
    .map((one) => one.source)
    .join("|"),
  "g",
);
const SAID = ["aria-label", "aria-valuetext", "title", "placeholder"];

/** Everything that is written or read out, and still English. */
function left(root: Element): string[] {
  const texts = [root, ...root.querySelectorAll("*")].flatMap((one) => [
    ...[...one.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent ?? ""),
    ...SAID.map((attribute) => one.getAttribute(attribute) ?? ""),
  ]);
  return [...new Set(texts.filter((text) => /[a-z]{2}/i.test(text.replace(NAMES, ""))))];
}

let close = () => {};
let root: HTMLElement;
let model: FakeModel;

function open(given: Record<string, unknown>): void {
  model = new FakeModel(given);
  root = document.createElement("div");
  document.body.replaceChildren(root);
  close = mount(model as unknown as Model, root, createGraphView);
}

const all = (query: string) => [...root.querySelectorAll<HTMLElement>(query)];
const tabs = () => all("[role=tab]");
function type(field: HTMLInputElement, text: string): void {
  field.value = text;
  field.dispatchEvent(new Event("input"));
}

beforeEach(() => share(cyrillic));
afterEach(() => {
  close();
  close = () => {};
  share(english);
  vi.unstubAllGlobals();
});

test("a bundle that another module shared before the widget is drawn is the widget's", async () => {
  share(english);
  const apart = "../src/words?apart";
  const other: { share(words: Words): void } = await import(/* @vite-ignore */ apart);
  expect(other.share).not.toBe(share);
  other.share(cyrillic);
  open(traits("broken"));
  const names = tabs().map((tab) => tab.firstChild!.textContent);
  expect(names).toEqual(["Graph", "Findings", "Timeline", "Optimizer", "Compare"].map(translated));
  expect(root.querySelector(".agi-header")!.textContent).toContain(`7 ${translated("ops")}`);
  expect(named(root, translated("Outline"))).toBeTruthy();
  expect(root.querySelector(".agi-legend")!.textContent).toContain(
    translated("gradient flows back"),
  );
  expect(root.querySelector("[data-node]")!.getAttribute("aria-label")).toMatch(/[а-я]/);
});

test.each<[Name, Name | ""]>([
  ["broken", "detached"],
  ["detached", "attached"],
  ["attached", "attached"],
  ["vitals", "short"],
  ["ranks", ""],
  ["short", ""],
])("no English is left in any tab of %s", (name, other) => {
  const { payload: text, buffer } = other ? traits(other) : { payload: "", buffer: undefined };
  open({ ...traits(name), other_payload: text, other_buffer: buffer });
  const english = new Set(left(root));
  const look = () => {
    for (const text of left(root)) english.add(text);
  };
  for (const tab of tabs()) {
    tab.click();
    look();
  }
  for (const details of all("details")) (details as HTMLDetailsElement).open = true;
  for (const finding of all("details.agi-finding")) finding.dispatchEvent(new Event("toggle"));
  look();
  for (const sort of all(".agi-sort")) sort.click();
  for (const opener of all(".agi-opener[aria-expanded=false]").slice(0, 3)) opener.click();
  look();
  // A row or two of each table and list.
  const lists = all(".agi-table tbody, .agi-compare ul, .agi-vital-rows ol, .agi-checkpoints");
  for (const button of lists.flatMap((list) => [...list.querySelectorAll("button")].slice(0, 2))) {
    button.click();
    look();
  }
  expect([...english]).toEqual([]);
});

test.each<Name>(["broken", "detached", "vitals"])(
  "no English is left of any node of %s",
  (name) => {
    open(traits(name));
    const english = new Set<string>();
    const count = JSON.parse(payload(name).text).head.ops;
    for (let id = 0; id < Math.min(count, 12); id++) {
      model.set("selected", [id]);
      for (const text of left(root.querySelector(".agi-details")!)) english.add(text);
    }
    model.set("selected", [1, 2]);
    for (const text of left(root)) english.add(text);
    expect([...english]).toEqual([]);
  },
);

test.each<[string, Name]>([
  ["Graph", "detached"],
  ["Timeline", "broken"],
  ["Optimizer", "attached"],
  ["Vitals", "vitals"],
])("no English is left in what the tools of %s say", (tab, name) => {
  open(traits(name));
  const english = new Set<string>();
  const look = () => {
    for (const text of left(root)) english.add(text);
  };
  tabs()
    .find((one) => one.firstChild!.textContent === translated(tab))!
    .click();
  const tools = ".agi-panel:not([hidden]) :is(.agi-toolbar, .agi-zoom) button, .agi-bar > button";
  for (const button of all(tools)) {
    button.click();
    look();
  }
  for (const field of all("input[type=search]") as HTMLInputElement[]) {
    type(field, "ω");
    look();
    type(field, "");
  }
  for (const slider of all("input[type=range]") as HTMLInputElement[]) {
    type(slider, "1");
    look();
  }
  expect([...english]).toEqual([]);
});

test("no English is left where there is nothing to show", () => {
  const none = { broken: "{}", nothing: "no", old: '{"wire":0}', damaged: '{"wire":1}' };
  for (const text of Object.values(none)) {
    open({ payload: text });
    expect(root.textContent).toMatch(/[а-я]{4}/);
    expect(left(root)).toEqual([]);
    close();
  }
  const fake = showText({ ...traits("attached"), other_payload: "{}" });
  for (const tab of fake.el.querySelectorAll<HTMLElement>("[role=tab]")) tab.click();
  expect(fake.text(".agi-empty")).toHaveLength(2);
  expect(left(fake.el)).toEqual([]);
  fake.close();
});

test("the exported picture speaks the page's language", async () => {
  const blobs: Blob[] = [];
  vi.stubGlobal("URL", { createObjectURL: (blob: Blob) => blobs.push(blob), revokeObjectURL() {} });
  open(traits("detached"));
  named(root, "SVG").click();
  await vi.waitFor(() => expect(root.querySelector("[role=status]")!.textContent).not.toBe(""));
  expect(left(root.querySelector("[role=status]")!)).toEqual([]);
  const drawn = new DOMParser().parseFromString(await blobs[0]!.text(), "text/html").body;
  expect(drawn.textContent).toMatch(/[а-я]{4}/);
  expect(left(drawn)).toEqual([]);
});

test("without a bundle, texts are English, and values are filled in", () => {
  share(undefined as unknown as Words);
  expect(trans.__("%2 before %1, 100%%", "b", "a")).toBe("a before b, 100%");
  expect(trans.__("of %1", "%1")).toBe("of %1");
  expect(trans._n("%1 box of %2", "%1 boxes of %2", 1, "x")).toBe("1 box of x");
  expect(trans._n("%1 box", "%1 boxes", 0)).toBe("0 boxes");
});

/**
 * What anywidget imports with every widget: little, because a browser never forgets a module. The widget's own module
 * is imported once a page, however many widgets there are. In a kernel its text is a trait of one model to which all
 * widgets refer; that model also brings the style into the page. Elsewhere it is a trait of the widget itself.
 */

import type { AnyModel } from "@anywidget/types";

interface Traits {
  /** The text of the widget's module, and a name that only the same text has. */
  module: string;
  module_id: string;
  /** "IPY_MODEL_" and the id of the model that has the text. */
  code?: string | null;
}
type Model = AnyModel<Traits>;
type Context = { model: Model; el: HTMLElement };
/** `signal` is aborted when the model is gone; anywidget has it since 0.10. */
type Beginning = { model: Model; signal?: AbortSignal };
interface Widget {
  initialize(context: { model: Model }): void;
  render(context: Context): () => void;
}
type Module = { default: () => Widget };

/** Kept by the page: each widget has a copy of this loader. */
const KEPT = Symbol.for("autograd-inspector.modules");

const LARGE = ["_esm", "_css", "module", "payload", "buffer", "other_payload", "other_buffer"];

function modules(): Map<string, Promise<Module>> {
  const page = globalThis as { [KEPT]?: Map<string, Promise<Module>> };
  page[KEPT] ??= new Map();
  return page[KEPT];
}

/** The model that has the text: asked for in any case, for where each output is a page of its own it is made then. */
async function codeOf(model: Model): Promise<{ get(name: "module"): string }> {
  const reference = model.get("code");
  if (!reference) return model;
  const id = reference.replace(/^IPY_MODEL_/, "");
  return (await model.widget_manager.get_model(id)) as Model;
}

async function moduleOf(model: Model): Promise<Module> {
  const code = await codeOf(model);
  const loaded = modules();
  const id = model.get("module_id");
  const there = loaded.get(id);
  if (there) return there;
  const url = URL.createObjectURL(new Blob([code.get("module")], { type: "text/javascript" }));
  const made = (import(url) as Promise<Module>).finally(() => URL.revokeObjectURL(url));
  loaded.set(id, made);
  // Whoever tries again may have more luck.
  made.catch(() => loaded.delete(id));
  return made;
}

/** JupyterLab keeps a closed comm, and with it the model, for as long as the kernel lives: what is large goes at least. */
function forget(model: Model): void {
  const { set } = model as {
    set(name: string, value: unknown, options: { silent: boolean }): void;
  };
  for (const name of LARGE)
    set(name, name.endsWith("buffer") ? new DataView(new ArrayBuffer(0)) : "", { silent: true });
}

/** One a model. */
export default () => {
  let widget: Widget;
  return {
    async initialize({ model, signal }: Beginning): Promise<void> {
      signal?.addEventListener("abort", () => forget(model));
      widget = (await moduleOf(model)).default();
      widget.initialize({ model });
    },
    render: (context: Context): (() => void) => widget.render(context),
  };
};

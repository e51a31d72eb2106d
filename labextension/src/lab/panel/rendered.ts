/** A widget of the kernel, drawn where its notebook would draw it: the same model, one more view. */

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Widget } from "@lumino/widgets";
import { trans } from "../i18n";
import { draw } from "../kernel/draw";

const VIEW = "application/vnd.jupyter.widget-view+json";
/** What JupyterLab writes meanwhile. */
const LOADING = "Loading widget...";
const SOON = 700;
/** On a widget that could not be drawn. */
export const FAILED = "agi-failed";

/** Throws one line where the page has no ipywidgets. */
export function rendered(rendermime: IRenderMimeRegistry, modelId: string): Widget {
  const data = { [VIEW]: { version_major: 2, version_minor: 0, model_id: modelId } };
  const model = rendermime.createModel({ data, trusted: true });
  if (!rendermime.preferredMimeType(data, "any")) {
    const install = "pip install jupyterlab_widgets";
    throw new Error(
      trans.__("this page shows no widgets: run %1 where JupyterLab is installed", install),
    );
  }
  const renderer = rendermime.createRenderer(VIEW);
  renderer.addClass("agi-rendered");
  // A model that is not there yet is waited for; one that is not there at all is said in its place.
  draw(renderer, model).catch((error: unknown) => {
    renderer.addClass(FAILED);
    renderer.node.textContent = trans.__("the widget failed: %1", String(error).split("\n")[0]!);
  });
  setTimeout(() => {
    // After a reload the page's widgets come with the first answer of the kernel's main thread.
    if (renderer.node.textContent !== LOADING) return;
    renderer.node.textContent = trans.__(
      "This page loads its widgets when the running cell ends …",
    );
  }, SOON);
  return renderer;
}

/** Draws the view of a kernel's widget. */

import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { Panel } from "@lumino/widgets";

/** The class that the widgets' renderer gives to an error that it shows in place of the view. */
const REFUSED = "jupyter-widgets";
const TIMES = 3;

/**
 * Renders, again where the renderer says that there is no such model.
 *
 * It looks for the model for two seconds. Where the kernel's models come in the last tenth of them, it gives up without
 * another look, although they are all there (ipywidgets 8).
 */
export async function draw(
  renderer: IRenderMime.IRenderer,
  model: IRenderMime.IMimeModel,
): Promise<void> {
  for (let time = 0; time < TIMES; time++) {
    renderer.removeClass(REFUSED);
    await renderer.renderModel(model);
    if (!refused(renderer)) return;
  }
}

function refused(renderer: IRenderMime.IRenderer): boolean {
  const { widgets } = renderer as unknown as Partial<Panel>;
  return !renderer.isDisposed && widgets?.length === 0 && renderer.hasClass(REFUSED);
}

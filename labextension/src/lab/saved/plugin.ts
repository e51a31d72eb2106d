/** How JupyterLab shows a capture that stands in a notebook's output. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { IConsoleTracker } from "@jupyterlab/console";
import { INotebookTracker } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { CAPTURE, CaptureRenderer, type Home } from "./renderer";

/** Before the view of a live widget (-10), which says "model not found" when there is none. */
const RANK = -20;

export const savedPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:saved",
  description: "Shows captures that a notebook kept.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker, IConsoleTracker],
  activate(
    _app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null,
  ): void {
    const homeOf = (node: HTMLElement): Home | null => {
      const notebook = notebooks?.find((panel) => panel.node.contains(node));
      if (notebook) {
        const { content, sessionContext } = notebook;
        return { rendermime: content.rendermime, sessionContext };
      }
      const panel = consoles?.find((one) => one.node.contains(node));
      return panel
        ? { rendermime: panel.console.rendermime, sessionContext: panel.sessionContext }
        : null;
    };
    rendermime.addFactory(
      {
        safe: true,
        mimeTypes: [CAPTURE],
        createRenderer: ({ mimeType }) => new CaptureRenderer(mimeType, homeOf),
      },
      RANK,
    );
  },
};

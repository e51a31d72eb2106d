/** A click on a location anywhere in the page: the cell, the file, or the text that the kernel has of it. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { IConsoleTracker } from "@jupyterlab/console";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import { LISTENS, REVEAL, type Target } from "../../state/reveal";
import { refuse } from "../announce";
import { IInspector } from "../api";
import { speak } from "../i18n";
import { flashLine } from "./flash";
import { bring, findCell } from "./jump_cell";
import { Files } from "./jump_file";

export const jumpPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:jump",
  description: "Goes from a location to its line.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [IConsoleTracker, IEditorLanguageRegistry, ITranslator],
  activate(
    app: JupyterFrontEnd,
    inspector: IInspector,
    notebooks: INotebookTracker,
    consoles: IConsoleTracker | null,
    languages: IEditorLanguageRegistry | null,
    translator: ITranslator | null,
  ): void {
    speak(translator);
    const files = new Files(app, inspector, languages);
    document.documentElement.setAttribute(LISTENS, "");
    document.addEventListener(REVEAL, (event) => {
      const { detail } = event as CustomEvent<Target>;
      const from = event.target instanceof Node ? event.target : document;
      // What is not found here is left to the widget, which says so.
      if (detail.cell) {
        const place = findCell(detail, from, notebooks, consoles);
        if (!place) return;
        event.preventDefault();
        void bring(app, place)
          .then((view) => view && flashLine(view, detail.line))
          .catch(refuse);
      } else {
        event.preventDefault();
        void files.open(detail).catch(refuse);
      }
    });
  },
};

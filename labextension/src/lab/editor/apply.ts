/** "Apply": the edit of a finding, made in the cells of the notebook as one step of undo. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { INotebookTracker, NotebookActions, NotebookPanel } from "@jupyterlab/notebook";
import { patched, type Section, sectionsOf } from "../../model/patch";
import { APPLY, type Application } from "../../state/edits";
import { refuse } from "../announce";
import { bring, type Found, findCell } from "./jump_cell";

interface Change extends Found {
  text: string;
}

export const applyPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:apply",
  description: "Makes the edit of a finding in its cell.",
  autoStart: true,
  requires: [INotebookTracker],
  activate(app: JupyterFrontEnd, notebooks: INotebookTracker): void {
    document.addEventListener(APPLY, (event) => {
      const { detail } = event as CustomEvent<Application>;
      const from = event.target instanceof Node ? event.target : document;
      event.preventDefault();
      const changes: Change[] = [];
      for (const section of sectionsOf(detail.patch)) {
        const change = changeOf(section, detail, from, notebooks);
        if (typeof change === "string") {
          detail.refusal = change;
          return;
        }
        changes.push(change);
      }
      for (const change of changes) write(change);
      if (detail.run) void run(app, changes).catch(refuse);
    });
  },
};

/** The cell with its new text, or why there is none. */
function changeOf(
  section: Section,
  { cellIds }: Application,
  from: Node,
  notebooks: INotebookTracker,
): Change | string {
  const { name } = section;
  const target = { cell: name, cellId: cellIds[name] ?? "", filename: "", line: 1, source: "" };
  const found = findCell(target, from, notebooks, null);
  if (!found) return `${name} is not in this notebook`;
  const text = patched(found.cell.model.sharedModel.getSource(), section);
  return text === null ? `${name} has changed since it ran: run it again` : { ...found, text };
}

/** Only what differs is replaced: the cursor stays, and one undo takes it back. */
function write({ cell, text }: Change): void {
  const shared = cell.model.sharedModel;
  const before = shared.getSource();
  let start = 0;
  while (start < before.length && before[start] === text[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, text.length) - start;
  while (end < most && before.at(-1 - end) === text.at(-1 - end)) end += 1;
  shared.updateSource(start, before.length - end, text.slice(start, text.length - end));
}

async function run(app: JupyterFrontEnd, changes: Change[]): Promise<void> {
  for (const change of changes) {
    await bring(app, change);
    const { panel } = change;
    if (panel instanceof NotebookPanel) {
      panel.content.mode = "command";
      await NotebookActions.run(panel.content, panel.sessionContext);
    }
  }
}

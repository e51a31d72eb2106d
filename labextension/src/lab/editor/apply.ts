/** A finding's edit in the cells of the notebook: shown, made as one step of undo, and run. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { INotebookTracker, NotebookActions, NotebookPanel } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import { patched, sectionsOf } from "../../model/patch";
import { APPLY, type Application } from "../../state/edits";
import { announce, refuse } from "../announce";
import { IInspector } from "../api";
import { speak, trans } from "../i18n";
import { clientOf } from "../kernel/kernels";
import { bring, type Found, findCell } from "./jump_cell";
import { preview } from "./preview";
import { Trial } from "./trial";

interface Change extends Found {
  name: string;
  before: string;
  after: string;
}

export const applyPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:apply",
  description: "Shows and makes the edit of a finding in its cell.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [IEditorLanguageRegistry, ITranslator],
  activate(
    app: JupyterFrontEnd,
    inspector: IInspector,
    notebooks: INotebookTracker,
    languages: IEditorLanguageRegistry | null,
    translator: ITranslator | null,
  ): void {
    speak(translator);
    const run = async (asked: Application, changes: Change[], from: Node) => {
      const { panel } = changes[0]!;
      const client = panel instanceof NotebookPanel ? clientOf(inspector, panel) : null;
      const inspected = cellOf(asked.fix.cell, asked, from, notebooks);
      const cells = inspected ? [...changes, inspected] : [...changes];
      const trial = new Trial(client, asked.fix.rule, (inspected ?? changes[0]!).cell.model.id);
      await runInOrder(app, cells);
      await trial.tell();
    };
    const show = async (asked: Application, changes: Change[], from: Node) => {
      const wish = await preview(asked.fix, changes, languages);
      if (wish === null) return;
      const again = changesOf(asked, from, notebooks);
      if (typeof again === "string") return refuse(again);
      for (const change of again) write(change);
      if (wish === "run") await run(asked, again, from);
      else announce(trans.__("Edit applied"));
    };
    document.addEventListener(APPLY, (event) => {
      const asked = (event as CustomEvent<Application>).detail;
      const from = event.target instanceof Node ? event.target : document;
      event.preventDefault();
      const changes = changesOf(asked, from, notebooks);
      if (typeof changes === "string") {
        asked.refusal = changes;
        return;
      }
      if (asked.wish === "preview") {
        void show(asked, changes, from).catch(refuse);
        return;
      }
      for (const change of changes) write(change);
      if (asked.wish === "run") void run(asked, changes, from).catch(refuse);
    });
  },
};

/** The cells with their new texts, or why there are none. */
function changesOf(asked: Application, from: Node, notebooks: INotebookTracker): Change[] | string {
  const changes: Change[] = [];
  for (const section of sectionsOf(asked.fix.patch)) {
    const { name } = section;
    const found = cellOf(name, asked, from, notebooks);
    if (!found) return trans.__("%1 is not in this notebook", name);
    const before = found.cell.model.sharedModel.getSource();
    const after = patched(before, section);
    if (after === null) return trans.__("%1 has changed since it ran: run it again", name);
    changes.push({ ...found, name, before, after });
  }
  return changes;
}

function cellOf(
  name: string,
  { cellIds }: Application,
  from: Node,
  notebooks: INotebookTracker,
): Found | null {
  const target = { cell: name, cellId: cellIds[name] ?? "", filename: "", line: 1, source: "" };
  return name ? findCell(target, from, notebooks, null) : null;
}

/** Only what differs is replaced: the cursor stays, and one undo takes it back. */
function write({ cell, before, after }: Change): void {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const text = after.slice(start, after.length - end);
  cell.model.sharedModel.updateSource(start, before.length - end, text);
}

/** Each once, from the top of the notebook down. */
async function runInOrder(app: JupyterFrontEnd, found: readonly Found[]): Promise<void> {
  const place = ({ panel, cell }: Found) =>
    panel instanceof NotebookPanel ? panel.content.widgets.indexOf(cell) : -1;
  const once = found.filter((one, n) => found.findIndex(({ cell }) => cell === one.cell) === n);
  for (const one of once.sort((a, b) => place(a) - place(b))) {
    await bring(app, one);
    const { panel } = one;
    if (!(panel instanceof NotebookPanel)) continue;
    panel.content.mode = "command";
    await NotebookActions.run(panel.content, panel.sessionContext);
  }
}

/** From what a capture knows of a cell to the cell, in whatever notebook or console is open. */

import type { EditorView } from "@codemirror/view";
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { Cell, CodeCell } from "@jupyterlab/cells";
import type { ConsolePanel, IConsoleTracker } from "@jupyterlab/console";
import { type INotebookTracker, NotebookActions, NotebookPanel } from "@jupyterlab/notebook";
import type { Target } from "../../state/reveal";
import { viewOf } from "../kernel/kernels";
import { cellFor } from "./places";

export interface Found {
  panel: NotebookPanel | ConsolePanel;
  cell: CodeCell;
}

/** The notebook that holds the widget comes first, then the active one, then the others. */
export function findCell(
  target: Target,
  from: Node,
  notebooks: INotebookTracker,
  consoles: IConsoleTracker | null,
): Found | null {
  const panels: Found["panel"][] = [];
  notebooks.forEach((panel) => void panels.push(panel));
  consoles?.forEach((panel) => void panels.push(panel));
  const home = panels.find((panel) => panel.node.contains(from)) ?? notebooks.currentWidget;
  const rest = panels.filter((panel) => panel !== home);
  for (const panel of home ? [home, ...rest] : rest) {
    // Numbers mean something only in the notebook that is meant: those of others are other cells.
    const asked = panel === home ? target : { ...target, cell: "" };
    const cells = codeCellsOf(panel);
    const at = cellFor(
      asked,
      cells.map(({ model }) => ({
        id: model.id,
        count: model.executionCount,
        source: model.sharedModel.getSource(),
      })),
    );
    if (at >= 0) return { panel, cell: cells[at]! };
  }
  return null;
}

function codeCellsOf(panel: Found["panel"]): CodeCell[] {
  const cells: Iterable<Cell> =
    panel instanceof NotebookPanel ? panel.content.widgets : panel.console.cells;
  return [...cells].filter((cell) => cell.model.type === "code") as CodeCell[];
}

/** Brings a cell into view, wherever it is hidden; returns its editor. */
export async function bring(
  app: JupyterFrontEnd,
  { panel, cell }: Found,
): Promise<EditorView | null> {
  app.shell.activateById(panel.id);
  if (cell.inputHidden) cell.inputHidden = false;
  if (panel instanceof NotebookPanel) {
    const notebook = panel.content;
    NotebookActions.expandParent(cell, notebook);
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.deselectAll();
    await notebook.scrollToItem(notebook.activeCellIndex, "center").catch(() => undefined);
    await cell.ready;
    notebook.mode = "edit";
  } else {
    cell.node.scrollIntoView({ block: "center" });
  }
  return viewOf(cell);
}

/** From finding to finding, by keyboard. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { CodeCell } from "@jupyterlab/cells";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import { announce } from "../announce";
import type { IInspector } from "../api";
import { bring } from "../editor/jump_cell";
import { markedIn } from "../editor/marks";
import { goTo } from "../editor/marks_field";
import type { MarkedLine } from "../editor/marks_of";
import { trans } from "../i18n";
import { codeCells } from "../kernel/kernels";
import { nextIndex } from "./next_index";

interface Stop {
  cell: CodeCell;
  marked: MarkedLine;
}

export async function step(
  app: JupyterFrontEnd,
  inspector: IInspector,
  tracker: INotebookTracker,
  way: 1 | -1,
): Promise<void> {
  const panel = tracker.currentWidget;
  if (!panel) return;
  const stops: Stop[] = codeCells(panel).flatMap((cell) =>
    markedIn(inspector, panel, cell).map((marked) => ({ cell, marked })),
  );
  if (stops.length === 0) throw new Error(trans.__("No finding names a line of this notebook"));
  const at = nextIndex(
    stops.map((stop) => placeOf(panel, stop)),
    here(panel),
    way,
  );
  const { cell, marked } = stops[at]!;
  const view = await bring(app, { panel, cell });
  if (view) goTo(view, marked.line);
  const messages = marked.marks.map((mark) => `${mark.severity} ${mark.rule}: ${mark.message}`);
  announce(
    trans.__(
      "Finding %1 of %2, line %3: %4",
      at + 1,
      stops.length,
      marked.line,
      messages.join("; "),
    ),
  );
}

/** Cell and line: what is compared to know what comes next. */
function placeOf(panel: NotebookPanel, { cell, marked }: Stop): [number, number] {
  return [panel.content.widgets.indexOf(cell), marked.line];
}

/** Where the cursor is; a cell that is not being edited begins above its first line. */
function here(panel: NotebookPanel): [number, number] {
  const { activeCell, activeCellIndex, mode } = panel.content;
  const line = mode === "edit" ? activeCell?.editor?.getCursorPosition().line : undefined;
  return [activeCellIndex, line === undefined ? 0 : line + 1];
}

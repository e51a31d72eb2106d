/** From what a finding says of a line to that line. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { IInspector } from "../api";
import { bring } from "../editor/jump_cell";
import { markedIn } from "../editor/marks";
import { goTo } from "../editor/marks_field";
import { codeCells } from "../kernel/kernels";
import type { Mark } from "../kernel/messages";

/** Brings it into view and opens its message; false where its cell was edited, or is gone. */
export async function leadTo(
  app: JupyterFrontEnd,
  inspector: IInspector,
  panel: NotebookPanel,
  mark: Mark,
): Promise<boolean> {
  const cell = codeCells(panel).find((one) =>
    markedIn(inspector, panel, one).some(({ marks }) => marks.includes(mark)),
  );
  const view = cell && (await bring(app, { panel, cell }));
  if (!view) return false;
  goTo(view, mark.line);
  return true;
}

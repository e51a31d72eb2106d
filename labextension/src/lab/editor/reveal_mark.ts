/** From a mark to its line, wherever that is. */

import { REVEAL, type Target } from "../../state/reveal";
import type { Mark } from "../kernel/messages";

/** As a click on a location in the widget does: the cell, or the file in an editor. */
export function revealMark(mark: Mark, from: EventTarget = document): void {
  const { cell, cell_id: cellId, line, path = "", source = "" } = mark;
  const detail: Target = { cell: path ? "" : cell, cellId, filename: path, line, source };
  from.dispatchEvent(new CustomEvent(REVEAL, { bubbles: true, cancelable: true, detail }));
}

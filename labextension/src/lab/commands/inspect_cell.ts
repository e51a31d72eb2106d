/** Puts the header on top of the active cell, or takes it away. */

import type { INotebookTracker } from "@jupyterlab/notebook";
import { announce, refuse } from "../announce";
import { trans } from "../i18n";
import { adding, type Edit, hasHeader, magicOf, removing } from "./header";

interface Text {
  getSource(): string;
  updateSource(start: number, end: number, text?: string): void;
}

export function toggleHeader(tracker: INotebookTracker): void {
  const cell = tracker.activeCell;
  if (cell?.model.type !== "code") {
    refuse(trans.__("Only code cells can be inspected"));
    return;
  }
  const text: Text = cell.model.sharedModel;
  const there = hasHeader(text.getSource());
  const edit = there ? removing(text.getSource()) : adding(text.getSource());
  if (!edit) {
    refuse(trans.__("This cell begins with %1: a cell has one magic", magicOf(text.getSource())));
    return;
  }
  apply(text, edit);
  announce(there ? trans.__("Cell is no longer inspected") : trans.__("Cell is inspected"));
}

/** As an edit of its own: one step back undoes it. */
export function apply(text: Text, { start, end, text: put }: Edit): void {
  text.updateSource(start, end, put);
}

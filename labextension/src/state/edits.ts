/** Making an edit in the notebook that the widget stands in: a host does it, where one listens. */

import { isCell, sectionsOf } from "../model/patch";
import { LISTENS } from "./reveal";

/** What a host is asked to do. */
export interface Application {
  patch: string;
  /** "In [3]" -> the notebook's own id of that cell, as far as the kernel knows it. */
  cellIds: Record<string, string>;
  /** Run the cell afterwards. */
  run: boolean;
  /** What the host says: "" when it is done. */
  refusal: string;
}

export interface Edits {
  /** Whether somebody makes a patch of these cells; files are for `git apply`. */
  can(patch: string): boolean;
  /** Returns what to say when it was not made, "" when it was. */
  make(patch: string, run: boolean): string;
}

/** What a host listens to; it calls preventDefault() on what it does. */
export const APPLY = "autograd-inspector:apply";

export function editsFrom(el: HTMLElement, cellIds: () => Record<string, string>): Edits {
  return {
    can(patch) {
      const sections = sectionsOf(patch);
      const heard = el.ownerDocument.documentElement.hasAttribute(LISTENS);
      return heard && sections.length > 0 && sections.every(({ name }) => isCell(name));
    },
    make(patch, run) {
      const detail: Application = { patch, run, cellIds: cellIds(), refusal: "" };
      const asked = new CustomEvent(APPLY, { bubbles: true, cancelable: true, detail });
      if (el.dispatchEvent(asked)) return "nothing here can edit the cell";
      return detail.refusal;
    },
  };
}

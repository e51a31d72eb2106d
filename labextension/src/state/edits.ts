/** Making an edit in the notebook that the widget stands in: a host does it, where one listens. */

import { isCell, sectionsOf } from "../model/patch";
import { trans } from "../words";
import { LISTENS } from "./reveal";

/** Only show it, make it, or make it and run what it concerns. */
export type Wish = "preview" | "apply" | "run";

/** A finding's edit. */
export interface Fix {
  rule: string;
  name: string;
  patch: string;
  unsafe: boolean;
  /** The cell that was inspected, "" where that is none: it shows whether the finding is gone. */
  cell: string;
}

/** What a host is asked to do. */
export interface Application {
  wish: Wish;
  fix: Fix;
  /** "In [3]" -> the notebook's own id of that cell, as far as the kernel knows it. */
  cellIds: Record<string, string>;
  /** What the host says: "" when it is done. */
  refusal: string;
}

export interface Edits {
  /** Whether somebody makes a patch of these cells; files are for `git apply`. */
  can(patch: string): boolean;
  /** Returns what to say when the wish was not granted, "" when it was. */
  make(fix: Fix, wish: Wish): string;
}

/** What a host listens to; it calls preventDefault() on what it does. */
export const APPLY = "autograd-inspector:apply";

export function concernsCells(patch: string): boolean {
  const sections = sectionsOf(patch);
  return sections.length > 0 && sections.every(({ name }) => isCell(name));
}

export function editsFrom(el: HTMLElement, cellIds: () => Record<string, string>): Edits {
  return {
    can: (patch) => el.ownerDocument.documentElement.hasAttribute(LISTENS) && concernsCells(patch),
    make(fix, wish) {
      const detail: Application = { wish, fix, cellIds: cellIds(), refusal: "" };
      const asked = new CustomEvent(APPLY, { bubbles: true, cancelable: true, detail });
      if (el.dispatchEvent(asked)) return trans.__("the cell cannot be edited here");
      return detail.refusal;
    },
  };
}

/** The light bulb beside a line whose finding has a fix: what it is asked for, somebody else answers. */

import type { Wish } from "../../state/edits";
import { el } from "../../view/dom";
import { svg } from "../../view/svg";
import { trans } from "../i18n";
import type { Mark } from "../kernel/messages";
import { fixesOf, type MarkedLine } from "./marks_of";

/** Fixes that somebody wants to choose from, at a place of the page; with a `wish`, that is done with the first. */
export interface FixesAsked {
  marks: readonly Mark[];
  x: number;
  y: number;
  wish?: Wish;
}

export const FIXES = "autograd-inspector:fixes";

/** Ask for fixes, below an element of the editor that they belong to. */
export function askFor(from: HTMLElement, asked: Omit<FixesAsked, "x" | "y">): void {
  const { left, bottom } = from.getBoundingClientRect();
  const detail: FixesAsked = { ...asked, x: left, y: bottom };
  from.dispatchEvent(new CustomEvent(FIXES, { bubbles: true, detail }));
}

const GLASS = "M8 1.5a4.5 4.5 0 0 0-2.6 8.2c.5.4.6.8.6 1.3h4c0-.5.1-.9.6-1.3A4.5 4.5 0 0 0 8 1.5z";
const SOCKET = "M6 12.3h4M6.6 14.2h2.8";

/** Commands lead to it, so it is no stop for the Tab key. */
export function bulb(marked: MarkedLine): HTMLElement | null {
  const marks = fixesOf(marked);
  if (marks.length === 0) return null;
  const rules = marks.map(({ rule }) => rule).join(", ");
  const made = el(
    "button",
    {
      type: "button",
      tabindex: "-1",
      class: "agi-host agi-bulb",
      "aria-haspopup": "menu",
      "aria-label": trans.__("Fixes of line %1: %2", marked.line, rules),
      title: trans.__("Preview or apply the fix"),
    },
    svg(
      "svg",
      { viewBox: "0 0 16 16", "aria-hidden": "true" },
      svg("path", { class: "agi-bulb-glass", d: GLASS }),
      svg("path", { class: "agi-bulb-socket", d: SOCKET }),
    ),
  );
  made.addEventListener("click", (event) => {
    event.stopPropagation();
    askFor(made, { marks });
  });
  return made;
}

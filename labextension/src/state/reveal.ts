/** Going to a line of the program: in the notebook that the widget stands in, or wherever a host can open it. */

import { trans } from "../words";

/** A line as the capture knows it. */
export interface Target {
  /** "In [3]", "" for a file. */
  cell: string;
  /** The notebook's own id of that cell, "" where the kernel does not know it. */
  cellId: string;
  filename: string;
  /** From 1. */
  line: number;
  source: string;
}

export interface Reveal {
  /** Whether there is a way to such a line at all. */
  can(target: Target): boolean;
  /** Returns what to say when it was not found, "" when it is shown. */
  go(target: Target): string;
}

/** What a host listens to; it calls preventDefault() on what it opens itself. */
export const REVEAL = "autograd-inspector:reveal";
/** On the document's root element: a host listens. */
export const LISTENS = "data-autograd-inspector";

/** Asks the host first, and looks into the notebook's page itself where none answers. */
export function revealFrom(el: HTMLElement, cellIds: () => Record<string, string>): Reveal {
  return {
    can: (target) => target.cell !== "" || el.ownerDocument.documentElement.hasAttribute(LISTENS),
    go(target) {
      const detail: Target = { ...target, cellId: cellIds()[target.cell] ?? "" };
      const asked = new CustomEvent(REVEAL, { bubbles: true, cancelable: true, detail });
      if (!el.dispatchEvent(asked)) return "";
      return target.cell ? inPage(el, target) : trans.__("nothing here opens %1", target.filename);
    },
  };
}

/** The cell by its prompt, as JupyterLab and Notebook draw it; only cells that are in the page can be found. */
function inPage(el: HTMLElement, target: Target): string {
  const number = target.cell.replace(/\D/g, "");
  const prompts = el.closest(".jp-Notebook")?.querySelectorAll(".jp-InputPrompt") ?? [];
  const prompt = [...prompts].find((one) => one.textContent?.trim() === `[${number}]:`);
  const cell = prompt?.closest<HTMLElement>(".jp-Cell");
  if (!cell) return trans.__("%1 is not in this page", target.cell);
  const line = cell.querySelectorAll<HTMLElement>(".cm-line")[target.line - 1];
  (line ?? cell).scrollIntoView({ block: "center" });
  flash(line ?? cell);
  return "";
}

export function flash(element: HTMLElement): void {
  const lit = { backgroundColor: "rgba(255, 193, 7, 0.55)" };
  element.animate?.([lit, lit, { backgroundColor: "transparent" }], { duration: 1600 });
}

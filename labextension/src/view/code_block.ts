/** Lines of the program with the gutter's numbers; beside each what happened there. */

import { placeOf } from "../model/finding_text";
import type { Target } from "../state/reveal";
import type { CodeBlock, CodeRow } from "../wire";
import type { Context } from "./context";
import { button, el, source } from "./dom";

export function codeBlock(context: Context, block: CodeBlock): HTMLElement {
  const rows: HTMLElement[] = [];
  let before = 0;
  for (const row of block.rows) {
    if (before && row.line > before + 1) rows.push(el("li", { class: "agi-gap" }, "⋯"));
    before = row.line;
    rows.push(line(context, block, row));
  }
  const title = block.filename || undefined;
  return el(
    "figure",
    { class: "agi-excerpt" },
    el("figcaption", { title }, block.title),
    el("ol", { class: "agi-excerpt-lines" }, ...rows),
  );
}

export function targetOf(block: CodeBlock, row: CodeRow): Target {
  const { cell = "", filename = "" } = block;
  return { cell, filename, line: row.line, source: row.text.trim(), cellId: "" };
}

/** A button that goes to the line, where there is a way; else the text itself. */
export function gutter(
  context: Context,
  block: CodeBlock,
  row: CodeRow,
  ...shown: (HTMLElement | string | number)[]
): HTMLElement {
  const target = targetOf(block, row);
  const place = placeOf({ block, row });
  const { reveal } = context;
  if (!reveal?.can(target)) return el("span", { class: "agi-goto" }, ...shown);
  const go = () => context.announce(reveal.go(target) || `went to ${place}`);
  const made = button("", go, { class: "agi-link agi-goto", "aria-label": `Go to ${place}` });
  made.append(...shown.map(String));
  return made;
}

function line(context: Context, block: CodeBlock, row: CodeRow): HTMLElement {
  const kind = row.culprit ? "agi-culprit" : row.role ? "agi-said" : "agi-beside";
  return el(
    "li",
    { class: kind },
    gutter(context, block, row, row.line),
    source(row.text, row.expression ?? ""),
    row.role && el("span", { class: "agi-role" }, row.role),
  );
}

/** Lines of the program with the gutter's numbers; beside each what happened there. */

import { type Culprit, placeOf, titleOf } from "../model/finding_text";
import type { Target } from "../state/reveal";
import type { CodeLine, Excerpt } from "../wire";
import { trans } from "../words";
import type { Context } from "./context";
import { button, el, source } from "./dom";
import { told } from "./place";

export function codeBlock(context: Context, excerpt: Excerpt): HTMLElement {
  const rows: HTMLElement[] = [];
  let before = 0;
  for (const line of excerpt.lines ?? []) {
    if (before && line.lineno > before + 1) rows.push(el("li", { class: "agi-gap" }, "⋯"));
    before = line.lineno;
    rows.push(row(context, excerpt, line));
  }
  const title = excerpt.filename || undefined;
  return el(
    "figure",
    { class: "agi-excerpt" },
    el("figcaption", { title }, titleOf(excerpt)),
    el("ol", { class: "agi-excerpt-lines" }, ...rows),
  );
}

/** What is `shown` is a button that goes to the line, where there is a way. */
export function gutter(context: Context, place: Culprit, shown: string | number): HTMLElement {
  const target = targetOf(place);
  const { reveal } = context;
  if (!reveal?.can(target)) return el("span", { class: "agi-goto" }, shown);
  const named = placeOf(place);
  const go = () => told(context, reveal.go(target), trans.__("went to %1", named));
  return button(shown, go, {
    class: "agi-link agi-goto",
    "aria-label": trans.__("Go to %1", named),
  });
}

function targetOf({ excerpt, line }: Culprit): Target {
  const { cell = "", filename } = excerpt;
  return { cell, filename, line: line.lineno, source: line.text.trim(), cellId: "" };
}

function row(context: Context, excerpt: Excerpt, line: CodeLine): HTMLElement {
  const kind = line.culprit ? "agi-culprit" : line.role ? "agi-said" : "agi-beside";
  return el(
    "li",
    { class: kind },
    gutter(context, { excerpt, line }, line.lineno),
    source(line.text, line.expression ?? ""),
    line.role && el("span", { class: "agi-role" }, line.role),
  );
}

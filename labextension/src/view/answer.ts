/** The answer, before anything else: the line that did it, why, and what to write instead. */

import { culpritOf, placeOf } from "../model/finding_text";
import { term } from "../model/said";
import { severityOf } from "../model/severity";
import type { FindingView } from "../wire";
import { trans } from "../words";
import { gutter } from "./code_block";
import type { Context } from "./context";
import { button, el, fill, prose, source } from "./dom";
import { fixBox } from "./finding_body";

export const SIGNS = { error: "✕", warning: "!", info: "i" };

/** Of one finding after the other; it follows what is chosen elsewhere. */
export function answer(context: Context): HTMLElement {
  const { findings } = context.capture.data;
  const host = el("section", { class: "agi-answer", "aria-label": trans.__("Answer") });
  let shown = -1;
  const show = () => {
    const now = context.finding ?? 0;
    if (now === shown) return;
    shown = now;
    const finding = findings[now]!;
    host.className = `agi-answer agi-tone agi-${severityOf(finding.severity)}`;
    fill(
      host,
      title(context, finding, now),
      culpritLine(context, finding),
      el("p", { class: "agi-message" }, prose(finding.message)),
      fixBox(context, finding),
    );
  };
  context.selection.listen(show);
  show();
  return host;
}

function title(context: Context, finding: FindingView, now: number): HTMLElement {
  const severity = severityOf(finding.severity);
  const count = context.capture.data.findings.length;
  return el(
    "div",
    { class: "agi-answer-title" },
    el("span", { class: "agi-sign", "aria-hidden": "true" }, SIGNS[severity]),
    el("span", { class: "agi-answer-severity" }, term(finding.severity)),
    el("h3", {}, el("span", { class: "agi-rule" }, finding.rule), " ", finding.name),
    finding.ranks && el("span", { class: "agi-quiet" }, trans.__("on %1", finding.ranks)),
    count > 1 && pager(context, now, count),
  );
}

function pager(context: Context, now: number, count: number): HTMLElement {
  const go = (step: number) => () => {
    context.choose((now + step + count) % count, "findings");
    // The buttons were made anew.
    const which = step > 0 ? "last" : "first";
    context.root().querySelector<HTMLElement>(`.agi-pager > :${which}-child`)?.focus();
  };
  return el(
    "span",
    { class: "agi-pager" },
    button("‹", go(-1), { "aria-label": trans.__("Previous finding") }),
    el("span", {}, trans.__("%1 of %2", now + 1, count)),
    button("›", go(1), { "aria-label": trans.__("Next finding") }),
  );
}

function culpritLine(context: Context, finding: FindingView): HTMLElement | null {
  const culprit = culpritOf(finding);
  if (!culprit) return null;
  const { line } = culprit;
  const text = line.text.trim() || trans.__("(no source)");
  return el(
    "div",
    { class: "agi-answer-line" },
    source(text, line.expression ?? ""),
    gutter(context, culprit, placeOf(culprit)),
  );
}

/** What the first screen says: the answer, if there is one to give; then, quietly, which cell, how large, how long. */

import type { Data } from "../model/decode";
import { counted } from "../model/said";
import { seconds, size } from "../model/shown";
import { trans } from "../words";
import { answer } from "./answer";
import type { Context } from "./context";
import { button, el } from "./dom";

/** Letters from which on an error scrolls. */
const LONG = 400;
const SEVERITIES = ["error", "warning", "info"] as const;

export function header(context: Context): HTMLElement {
  const { data } = context.capture;
  const { head, findings } = data;
  return el(
    "div",
    { class: "agi-header" },
    findings.length > 0 && answer(context),
    !findings.length && raised(head.error),
    factLine(data, () => context.show("Findings")),
  );
}

function factLine({ head, findings }: Data, showFindings: () => void): HTMLElement {
  const short = trans.__(
    "This is the condensed view that was saved with the notebook. Run the cell again to see the full graph.",
  );
  const facts = [
    counted(head.ops, "op"),
    counted(head.autograd_nodes, "autograd node"),
    trans.__("%1 saved", size(head.saved_bytes)),
    // A notebook file keeps no duration: it would differ from run to run.
    head.seconds > 0 && seconds(head.seconds),
  ].filter((fact): fact is string => !!fact);
  const chips = SEVERITIES.map((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    const text = severity === "info" ? trans.__("%1 info", count) : counted(count, severity);
    return count > 0 && button(text, showFindings, { class: `agi-chip agi-${severity}` });
  });
  return el(
    "div",
    { class: "agi-factline" },
    el("strong", { class: "agi-cell" }, head.cell || "autograd"),
    ...facts.map((fact) => el("span", { class: "agi-fact" }, fact)),
    head.short && el("span", { class: "agi-fact", title: short }, trans.__("condensed")),
    findings.length
      ? el("span", { class: "agi-chips" }, ...chips)
      : el(
          "span",
          { class: `agi-chip ${head.unjudged ? "agi-warning" : "agi-good"}` },
          head.unjudged || trans.__("no findings"),
        ),
  );
}

/** The program's own error. */
export function raised(error: string): HTMLElement | null {
  if (!error) return null;
  const scrolls = error.length > LONG ? 0 : undefined;
  return el(
    "p",
    { class: "agi-raised", tabindex: scrolls },
    trans.__("the program raised %1", error),
  );
}

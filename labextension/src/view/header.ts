/** One line about the capture: which cell, how large, how long, what was found. */

import type { Data } from "../model/decode";
import { counted, seconds, size } from "../model/shown";
import { button, el } from "./dom";

/** Letters from which on an error scrolls. */
const LONG = 400;
const SEVERITIES = ["error", "warning", "info"] as const;
const SHORT =
  "The notebook keeps this capture in short: a box stands for many ops. Run the cell again for all of them.";

export function header(data: Data, showFindings: () => void): HTMLElement {
  const { head, findings } = data;
  const facts = [
    counted(head.ops, "op"),
    counted(head.autograd_nodes, "autograd node"),
    `${size(head.saved_bytes)} saved`,
    // A notebook file keeps no duration: it would differ from run to run.
    head.seconds > 0 && seconds(head.seconds),
  ].filter((fact): fact is string => !!fact);
  const chips = SEVERITIES.map((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    const text = severity === "info" ? `${count} info` : counted(count, severity);
    return count > 0 && button(text, showFindings, { class: `agi-chip agi-${severity}` });
  });
  return el(
    "div",
    { class: "agi-header" },
    el("strong", { class: "agi-cell" }, head.cell || "autograd"),
    ...facts.map((fact) => el("span", { class: "agi-fact" }, fact)),
    findings.length
      ? el("span", { class: "agi-chips" }, ...chips)
      : el(
          "span",
          { class: `agi-chip ${head.unjudged ? "agi-warning" : "agi-good"}` },
          head.unjudged || "no findings",
        ),
    head.short && el("span", { class: "agi-fact", title: SHORT }, "saved in short"),
    head.error &&
      el(
        "p",
        { class: "agi-raised", tabindex: head.error.length > LONG ? 0 : undefined },
        `the program raised ${head.error}`,
      ),
  );
}

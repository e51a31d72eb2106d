/** One line about the capture: which cell, how large, how long, what was found. */

import type { Data } from "../model/decode";
import { counted, seconds, size } from "../model/shown";
import { button, el } from "./dom";

const SEVERITIES = ["error", "warning", "info"] as const;

export function header(data: Data, showFindings: () => void): HTMLElement {
  const { head, findings } = data;
  const facts = [
    counted(head.ops, "op"),
    counted(head.autograd_nodes, "autograd node"),
    `${size(head.saved_bytes)} saved`,
    seconds(head.seconds),
  ];
  const chips = SEVERITIES.map((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    const text = severity === "info" ? `${count} info` : counted(count, severity);
    return count > 0 && button(text, showFindings, { class: `ag-chip ag-${severity}` });
  });
  return el(
    "div",
    { class: "ag-header" },
    el("strong", { class: "ag-cell" }, head.cell || "autograd"),
    ...facts.map((fact) => el("span", { class: "ag-fact" }, fact)),
    findings.length
      ? el("span", { class: "ag-chips" }, ...chips)
      : el("span", { class: "ag-chip ag-good" }, "no findings"),
    head.error && el("p", { class: "ag-raised" }, `the program raised ${head.error}`),
  );
}

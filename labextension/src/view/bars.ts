/** Bytes by device and kind, as bars with their numbers. */

import { size } from "../model/shown";
import type { Bar } from "../wire";
import { el } from "./dom";

const KINDS = ["parameters", "gradients", "state"] as const;

export function bars(title: string, rows: Bar[]): HTMLElement | null {
  const sum = (bar: Bar) => bar.parameters + bar.gradients + bar.state;
  const most = Math.max(...rows.map(sum), 1);
  if (!rows.length) return null;
  return el(
    "div",
    { class: "ag-bars" },
    el("h4", {}, title),
    ...rows.map((bar) => {
      const said = KINDS.filter((kind) => bar[kind] > 0).map(
        (kind) => `${kind} ${size(bar[kind])}`,
      );
      const parts = KINDS.map((kind) => {
        const part = el("span", {
          class: `ag-bar ag-${kind}`,
          title: `${kind} ${size(bar[kind])}`,
        });
        part.style.width = `${(100 * bar[kind]) / most}%`;
        return part;
      });
      return el(
        "div",
        { class: "ag-bar-row" },
        el("span", { class: "ag-bar-key" }, bar.key),
        el("span", { class: "ag-bar-track", "aria-hidden": "true" }, ...parts),
        el("span", { class: "ag-quiet" }, said.join(" · ")),
      );
    }),
  );
}

export function legend(): HTMLElement {
  return el(
    "p",
    { class: "ag-legend", "aria-hidden": "true" },
    ...KINDS.map((kind) => el("span", {}, el("i", { class: `ag-bar ag-${kind}` }), kind)),
  );
}

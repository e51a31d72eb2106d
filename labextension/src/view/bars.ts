/** Bytes by device and kind, as bars with their numbers. */

import { size } from "../model/shown";
import type { ByteTotal } from "../wire";
import { trans } from "../words";
import { el } from "./dom";

const KINDS = ["parameters", "gradients", "state"] as const;

export function bars(title: string, rows: ByteTotal[]): HTMLElement | null {
  const sum = (bar: ByteTotal) => bar.parameters + bar.gradients + bar.state;
  const most = Math.max(...rows.map(sum), 1);
  if (!rows.length) return null;
  return el(
    "div",
    { class: "agi-bars" },
    el("h4", {}, title),
    ...rows.map((bar) => {
      const kinds = KINDS.filter((kind) => bar[kind] > 0);
      const parts = kinds.map((kind) => {
        const part = el("span", { class: `agi-meter agi-${kind}`, title: meterText(bar, kind) });
        part.style.width = `${(100 * bar[kind]) / most}%`;
        return part;
      });
      const legend = kinds.map((kind) =>
        el(
          "span",
          {},
          el("i", { class: `agi-meter agi-${kind}`, "aria-hidden": "true" }),
          meterText(bar, kind),
        ),
      );
      return el(
        "div",
        { class: "agi-bar-row" },
        el("span", { class: "agi-bar-key" }, bar.key),
        el("span", { class: "agi-bar-track", "aria-hidden": "true" }, ...parts),
        el("span", { class: "agi-key" }, ...legend),
      );
    }),
  );
}

function meterText(bar: ByteTotal, kind: (typeof KINDS)[number]): string {
  const bytes = size(bar[kind]);
  if (kind === "parameters") return trans.__("parameters %1", bytes);
  return kind === "gradients" ? trans.__("gradients %1", bytes) : trans.__("state %1", bytes);
}

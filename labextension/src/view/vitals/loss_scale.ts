/** A GradScaler's scale after each of its updates. */

import { counted, grouped } from "../../model/said";
import type { Vitals } from "../../wire";
import { trans } from "../../words";
import { el } from "../dom";
import { svg } from "../svg";

const WIDTH = 240;
const HEIGHT = 32;
const MARGIN = 2;

/** Nothing without a GradScaler. */
export function lossScale({ updates, scale }: Vitals): HTMLElement | null {
  const points = scale.flatMap((value, n) =>
    typeof value === "number" && value > 0 ? [[updates[n]!, value] as const] : [],
  );
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last) return null;
  const falls = points.filter(([, value], n) => n > 0 && value < points[n - 1]![1]).length;
  const said = [
    first[1] === last[1] ? grouped(first[1]) : `${grouped(first[1])} → ${grouped(last[1])}`,
    counted(last[0], "update"),
    falls > 0 && trans._n("lowered %2 time", "lowered %2 times", falls, grouped(falls)),
  ].filter(Boolean);
  const text = said.join(", ");
  return el(
    "div",
    { class: "agi-memory agi-loss-scale" },
    el("div", { class: "agi-memory-key" }, el("h4", {}, trans.__("Loss scale")), text),
    drawn(points, text),
  );
}

/** Logarithmic: a scale is doubled and halved. */
function drawn(points: (readonly [number, number])[], text: string): SVGElement {
  const logs = points.map(([, value]) => Math.log2(value));
  const low = Math.min(...logs);
  const up = (HEIGHT - 2 * MARGIN) / Math.max(Math.max(...logs) - low, 1);
  const start = points[0]![0];
  const across = (WIDTH - 2 * MARGIN) / Math.max(points.at(-1)![0] - start, 1);
  const path = points.map(([update], n) => {
    const x = (MARGIN + (update - start) * across).toFixed(1);
    const y = (HEIGHT - MARGIN - (logs[n]! - low) * up).toFixed(1);
    return n ? `H${x}V${y}` : `M${x} ${y}`;
  });
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": trans.__("Loss scale: %1", text),
    },
    svg("path", { class: "agi-peak", d: path.join("") }),
  );
}

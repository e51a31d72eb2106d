/** The heat map as a picture of its own: colours are in it, so that it looks alike wherever it is shown. */

import { grouped } from "../../model/said";
import { crosses, runsOf } from "../../model/vitals/runs";
import { type Shade, STEPS, said } from "../../model/vitals/scale";
import { trans } from "../../words";
import { svg } from "../svg";
import type { HeatMap } from "./heat_map";

/** Viridis (Smith and van der Walt, matplotlib 1.5), as vitals.css has it. */
export const COLOURS = [
  "#440154",
  "#472d7b",
  "#3b528b",
  "#2c728e",
  "#21918c",
  "#28ae80",
  "#5ec962",
  "#addc30",
  "#fde725",
];
const OTHERS = { zero: "#59636e", nonfinite: "#b3261e", unmeasured: "none" };
const ROW = 18;
const CELLS = 640;
const LETTER = 7;
const HEAD = 56;
const GAP = 12;
const SIDE = 12;

export function picture({
  quantity,
  vitals,
  shown,
  scale,
  columns,
}: Pick<HeatMap, "quantity" | "vitals" | "shown" | "scale" | "columns">): string {
  const [from, to] = columns;
  const rows = shown.map((n) => quantity.rows[n]!);
  const left = SIDE + GAP + LETTER * Math.max(4, ...rows.map(({ label }) => label.length));
  const width = left + CELLS + SIDE + 80;
  const height = HEAD + rows.length * ROW + SIDE;
  const [first, last] = [grouped(vitals.steps[from]!), grouped(vitals.steps[to]!)];
  const heading = trans.__("%1, steps %2 to %3", quantity.title, first, last);
  const cell = `scale(${CELLS / (to - from + 1)} ${ROW - 2})`;
  const whole = svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": "ui-monospace, monospace",
      "font-size": 12,
    },
    svg("rect", { width, height, fill: "#ffffff" }),
    svg("text", { x: SIDE, y: 20, "font-weight": 600 }, heading),
    ...Array.from({ length: STEPS }, (_, n) =>
      svg("rect", { x: left + n * 16, y: 30, width: 16, height: 12, fill: COLOURS[n]! }),
    ),
    svg("text", { x: left - GAP, y: 40, "text-anchor": "end" }, said(scale.low)),
    svg("text", { x: left + STEPS * 16 + GAP, y: 40 }, `${said(scale.high)}${marks(scale.has)}`),
  );
  rows.forEach((row, n) => {
    const y = HEAD + n * ROW;
    const cells = svg("g", { transform: `translate(${left} ${y}) ${cell}` });
    for (const { shade, path } of runsOf(row.values, scale, columns)) {
      cells.append(svg("path", { d: path, fill: colour(shade) }));
    }
    cells.append(
      svg("path", {
        d: crosses(row.values, scale, columns),
        stroke: "#ffffff",
        fill: "none",
        "vector-effect": "non-scaling-stroke",
      }),
    );
    whole.append(
      svg("text", { x: left - GAP, y: y + 12, "text-anchor": "end" }, row.label),
      cells,
      svg("text", { x: left + CELLS + GAP, y: y + 12 }, said(row.values[to] ?? null)),
    );
  });
  return new XMLSerializer().serializeToString(whole);
}

function colour(shade: Shade): string {
  return typeof shade === "number" ? COLOURS[shade]! : OTHERS[shade];
}

function marks(has: ReadonlySet<Shade>): string {
  return [
    has.has("zero") && `; ${trans.__("line: exactly 0")}`,
    has.has("nonfinite") && `; ${trans.__("cross: NaN or infinity")}`,
  ]
    .filter(Boolean)
    .join("");
}

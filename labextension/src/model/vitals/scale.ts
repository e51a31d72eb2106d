/** Value -> shade: nine steps between the smallest and the largest value of a quantity. */

import type { Quantity, VitalsRow } from "../../wire";
import { trans } from "../../words";

export type Cell = VitalsRow["values"][number];
/** A number is a step of the scale, 0 the lowest. */
export type Shade = number | "zero" | "nonfinite" | "unmeasured";

export const STEPS = 9;
const MIDDLE = (STEPS - 1) / 2;

export interface Scale {
  low: number;
  high: number;
  logarithmic: boolean;
  /** Shades that some cell has, for the legend. */
  has: ReadonlySet<Shade>;
  shade(cell: Cell): Shade;
  /** How far a value is from the low end to the high end, 0 to 1. */
  share(value: number): number;
}

/** Shares have the scale 0 to 1; what spans orders of magnitude has a logarithmic one. */
export function scaleOf({ rows, logarithmic }: Pick<Quantity, "rows" | "logarithmic">): Scale {
  let low = logarithmic ? Number.POSITIVE_INFINITY : 0;
  let high = logarithmic ? 0 : 1;
  for (const row of rows) {
    for (const value of row.values) {
      if (typeof value !== "number" || value <= 0) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!Number.isFinite(low)) low = high;
  const width = logarithmic ? Math.log(high) - Math.log(low) : high - low;
  const share = (value: number): number => {
    if (!(width > 0)) return 0.5;
    const at = logarithmic ? Math.log(value) - Math.log(low) : value - low;
    return Math.min(Math.max(at / width, 0), 1);
  };
  const shade = (cell: Cell): Shade => {
    if (cell === null || cell === undefined) return "unmeasured";
    if (typeof cell !== "number") return "nonfinite";
    if (cell === 0) return "zero";
    if (!(width > 0)) return MIDDLE;
    return Math.min(Math.floor(share(cell) * STEPS), STEPS - 1);
  };
  const has = new Set(rows.flatMap((row) => row.values.map(shade)));
  return { low, high, logarithmic, has, shade, share };
}

/** `0.41`, `3.2e-4`, `NaN`, `not measured`. */
export function said(cell: Cell): string {
  if (cell === null || cell === undefined) return trans.__("not measured");
  if (typeof cell !== "number") return cell === "nan" ? "NaN" : cell;
  const size = Math.abs(cell);
  if (cell === 0) return "0";
  if (size < 1e-3 || size >= 1e5) return cell.toExponential(2).replace("e+", "e");
  return String(Number(cell.toPrecision(3)));
}

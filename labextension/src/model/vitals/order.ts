/** In which order the rows of a quantity are shown. */

import type { Quantity, VitalsRow } from "../../wire";
import { trans } from "../../words";

export type Order = "module" | "worst" | "largest" | "smallest";

/** Each with what it is called. */
export const orders = (): [Order, string][] => [
  ["module", trans.__("module order")],
  ["worst", trans.__("worst first")],
  ["largest", trans.__("largest first")],
  ["smallest", trans.__("smallest first")],
];

/** The value that a row is sorted by: its latest one of the columns; NaN and infinity are above everything. */
function latest(row: VitalsRow, from: number, to: number): number | null {
  for (let n = to; n >= from; n--) {
    const value = row.values[n];
    if (typeof value === "number") return value;
    if (value !== null && value !== undefined) return Number.POSITIVE_INFINITY;
  }
  return null;
}

/** Shares of which a small one is worse than a large one. */
const BETTER_LARGE = new Set(["cosine"]);

/**
 * How bad a row is among others. What is not finite is worst; of what spans orders of magnitude an exact zero is next,
 * then what lies furthest from the median; a share is worse the larger it is.
 */
function badness(
  { key, logarithmic }: Pick<Quantity, "key" | "logarithmic">,
  value: number,
  middle: number,
): number {
  if (!Number.isFinite(value)) return Number.POSITIVE_INFINITY;
  if (!logarithmic) return BETTER_LARGE.has(key) ? -value : value;
  return value > 0 ? Math.abs(Math.log(value) - middle) : Number.MAX_VALUE;
}

function median(values: readonly (number | null)[]): number {
  const logs = values.flatMap((value) =>
    value !== null && value > 0 && Number.isFinite(value) ? [Math.log(value)] : [],
  );
  logs.sort((a, b) => a - b);
  return logs[logs.length >> 1] ?? 0;
}

/** Indices of the rows that hold `text`, sorted by their latest value from column `from` to `to`. */
export function ordered(
  quantity: Pick<Quantity, "key" | "logarithmic" | "rows">,
  order: Order,
  text: string,
  [from, to]: readonly [number, number],
): number[] {
  const { rows } = quantity;
  const sought = text.trim().toLowerCase();
  const shown = rows.flatMap(({ label }, n) => (label.toLowerCase().includes(sought) ? [n] : []));
  if (order === "module") return shown;
  const last = shown.map((n) => latest(rows[n]!, from, to));
  const middle = median(last);
  const sorted = (value: number | null) =>
    order === "worst" && value !== null ? badness(quantity, value, middle) : value;
  const values = new Map(shown.map((n, place) => [n, sorted(last[place]!)]));
  const sign = order === "smallest" ? 1 : -1;
  // Rows without a value are last in both orders.
  return shown.sort((a, b) => {
    const [one, other] = [values.get(a)!, values.get(b)!];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return one === other ? a - b : sign * (one < other ? -1 : 1);
  });
}

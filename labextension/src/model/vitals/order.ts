/** In which order the rows of a quantity are shown. */

import type { VitalsRow } from "../../wire";

export const ORDERS = {
  module: "module order",
  largest: "largest first",
  smallest: "smallest first",
};
export type Order = keyof typeof ORDERS;

/** The value that a row is sorted by: its latest one of the columns; NaN and infinity are above everything. */
function latest(row: VitalsRow, from: number, to: number): number | null {
  for (let n = to; n >= from; n--) {
    const value = row.values[n];
    if (typeof value === "number") return value;
    if (value !== null && value !== undefined) return Number.POSITIVE_INFINITY;
  }
  return null;
}

/** Indices of the rows that hold `text`, sorted by their latest value from column `from` to `to`. */
export function ordered(
  rows: readonly VitalsRow[],
  order: Order,
  text: string,
  [from, to]: readonly [number, number],
): number[] {
  const sought = text.trim().toLowerCase();
  const shown = rows.flatMap(({ label }, n) => (label.toLowerCase().includes(sought) ? [n] : []));
  if (order === "module") return shown;
  const values = new Map(shown.map((n) => [n, latest(rows[n]!, from, to)]));
  const sign = order === "largest" ? -1 : 1;
  // Rows without a value are last in both orders.
  return shown.sort((a, b) => {
    const [one, other] = [values.get(a)!, values.get(b)!];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return one === other ? a - b : sign * (one < other ? -1 : 1);
  });
}

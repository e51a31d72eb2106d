/** What of a parameter's row the table filters and sorts by. */

import type { Row } from "../model/mismatch";
import { gradient, stated } from "./placement_row";

export type Key =
  | "name"
  | "shape"
  | "dtype"
  | "device"
  | "gradient"
  | "optimizer"
  | "state"
  | "total";

/** What the filter looks in. */
export function words(row: Row): string {
  const state = row.state.map((entry) => `${entry.name} ${entry.device} ${entry.dtype}`);
  const columns = [row.name, row.shape, row.dtype, row.device, row.optimizer, row.standing];
  return [...columns, gradient(row), ...state, ...row.problems].join(" ").toLowerCase();
}

/** What a column sorts by. */
export function value(row: Row, key: Key): string | number {
  if (key === "total") return row.total;
  if (key === "gradient") return gradient(row);
  if (key === "state") return row.state.map((entry) => stated(entry, row)).join(", ");
  return row[key];
}

/** Numbers in names count as numbers. */
export function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

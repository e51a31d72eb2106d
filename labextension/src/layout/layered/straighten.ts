/** Small bends are ugly. */

import type { Work } from "../work";
import type { Hop, Rows } from "./rows";
import { distance, wish } from "./spacing";

/** Points of a trunk come to stand on one line where there is room, and so do boxes along the spine of the picture. */
export function* straighten(rows: Rows, x: number[], up: Hop[][], down: Hop[][]): Work<void> {
  const index: number[] = [];
  for (const row of rows.rows) for (const [at, cell] of row.entries()) index[cell] = at;
  const room = (cell: number): [number, number] => {
    const row = rows.rows[rows.ranks[cell]!]!;
    const at = index[cell]!;
    const [left, right] = [row[at - 1], row[at + 1]];
    return [
      left === undefined ? -Infinity : x[left]! + distance(left, cell, rows),
      right === undefined ? Infinity : x[right]! - distance(cell, right, rows),
    ];
  };
  for (let round = 0; round < 2; round++) {
    for (const trunk of rows.trunks) {
      if (trunk.cells.length === 0) continue;
      let [low, high] = [-Infinity, Infinity];
      for (const cell of trunk.cells) {
        const [from, to] = room(cell);
        [low, high] = [Math.max(low, from), Math.min(high, to)];
      }
      if (low > high) continue;
      const mean = trunk.cells.reduce((sum, cell) => sum + x[cell]!, 0) / trunk.cells.length;
      const line = Math.min(Math.max(mean, low), high);
      for (const cell of trunk.cells) x[cell] = line;
      yield;
    }
    for (const row of rows.rows) {
      for (const cell of row) {
        const hop = main(up[cell]!);
        if (!hop || cell >= rows.elements || hop.upper >= rows.elements) continue;
        const mutual = main(down[hop.upper]!) === hop;
        if (!mutual && Math.abs(wish(hop, cell, x) - x[cell]!) > 12) continue;
        const [from, to] = room(cell);
        if (from <= to) x[cell] = Math.min(Math.max(wish(hop, cell, x), from), to);
      }
      yield;
    }
  }
}

/** The one wire that matters most among those of a box; null where none does. */
function main(hops: Hop[]): Hop | null {
  let best: Hop | null = null;
  let second = 0;
  for (const hop of hops) {
    if (!best || hop.straight > best.straight) {
      second = best?.straight ?? 0;
      best = hop;
    } else second = Math.max(second, hop.straight);
  }
  return best && best.straight >= 2 * second ? best : null;
}

/** Where in its row every cell stands: as near to its neighbours above and below as the row's order allows. */

import type { Work } from "../work";
import { byCell } from "./order";
import type { Hop, Rows } from "./rows";
import { distance, wish } from "./spacing";
import { straighten } from "./straighten";

const ROUNDS = 10;

/** Middle of each cell. */
export function* placeCells(rows: Rows): Work<number[]> {
  const x: number[] = new Array(rows.ranks.length).fill(0);
  const up = byCell(x.length, rows.hops, (hop) => hop.lower);
  const down = byCell(x.length, rows.hops, (hop) => hop.upper);
  for (const row of rows.rows) pack(row, rows, x);
  const rising = [...rows.rows].reverse();
  for (let round = 0; round < ROUNDS; round++) {
    yield* settled(rows.rows, rows, x, [up]);
    yield* settled(rising, rows, x, [down]);
  }
  yield* settled(rows.rows, rows, x, [up, down]);
  yield* settled(rising, rows, x, [up, down]);
  yield* straighten(rows, x, up, down);
  return x.map(Math.round);
}

function pack(row: number[], rows: Rows, x: number[]): void {
  for (let at = 1; at < row.length; at++) {
    x[row[at]!] = x[row[at - 1]!]! + distance(row[at - 1]!, row[at]!, rows);
  }
  const shift = row.length > 0 ? x[row.at(-1)!]! / 2 : 0;
  for (const cell of row) x[cell] = x[cell]! - shift;
}

function* settled(order: number[][], rows: Rows, x: number[], sides: Hop[][][]): Work<void> {
  for (const row of order) {
    settle(row, rows, x, sides);
    yield;
  }
}

/** Least squares under the row's order: pool neighbours that would overlap (PAV). */
function settle(row: number[], rows: Rows, x: number[], sides: Hop[][][]): void {
  const blocks: { sum: number; weight: number; from: number }[] = [];
  const shifts: number[] = [];
  let shift = 0;
  for (let at = 0; at < row.length; at++) {
    const cell = row[at]!;
    if (at > 0) shift += distance(row[at - 1]!, cell, rows);
    shifts.push(shift);
    let [sum, weight] = [0, 0];
    for (const side of sides) {
      for (const hop of side[cell]!) {
        sum += hop.straight * wish(hop, cell, x);
        weight += hop.straight;
      }
    }
    if (weight === 0) [sum, weight] = [0.05 * x[cell]!, 0.05];
    let block = { sum: sum - weight * shift, weight, from: at };
    for (
      let last = blocks.at(-1);
      last && last.sum / last.weight >= block.sum / block.weight;
      last = blocks.at(-1)
    ) {
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, from: last.from };
      blocks.pop();
    }
    blocks.push(block);
  }
  blocks.forEach((block, number) => {
    const end = blocks[number + 1]?.from ?? row.length;
    for (let at = block.from; at < end; at++) x[row[at]!] = block.sum / block.weight + shifts[at]!;
  });
}

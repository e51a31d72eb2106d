/** The order within each row: barycenters up and down until fewer wires cross no more. */

import type { Work } from "../work";
import type { Hop, Rows } from "./rows";

const SWEEPS = 12;
/** Swapping neighbours pays off in small pictures, and costs too much in large ones. */
const SWAPPED = 400;

export function* orderRows(rows: Rows): Work<void> {
  const count = rows.ranks.length;
  const up = byCell(count, rows.hops, (hop) => hop.lower);
  const down = byCell(count, rows.hops, (hop) => hop.upper);
  const place = new Float64Array(count);
  const settle = (row: number[]): void => {
    for (let index = 0; index < row.length; index++) place[row[index]!] = index;
  };
  for (const row of rows.rows) settle(row);
  yield;
  startByParents(rows, up, place, settle);
  yield;
  let best = rows.rows.map((row) => [...row]);
  let fewest = yield* crossings(rows, down, place);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const falling = sweep % 2 === 0;
    const order = falling ? rows.rows : [...rows.rows].reverse();
    for (const row of order) {
      sortRow(row, falling ? up : down, falling, rows, place);
      settle(row);
      yield;
    }
    if (count < SWAPPED) swapNeighbours(rows, up, down, place);
    const now = yield* crossings(rows, down, place);
    if (now >= fewest) continue;
    fewest = now;
    best = rows.rows.map((row) => [...row]);
  }
  rows.rows = best;
}

/** First guess, row by row: program order, but points of trunks below what they come from. */
function startByParents(
  rows: Rows,
  up: Hop[][],
  place: Float64Array,
  settle: (row: number[]) => void,
): void {
  for (const row of rows.rows) {
    sortRow(row, up, true, rows, place);
    settle(row);
  }
}

/** Where a wire leaves or meets its cell, in units of cells. */
function end(hop: Hop, upper: boolean, rows: Rows, place: Float64Array): number {
  const cell = upper ? hop.upper : hop.lower;
  const at = upper ? hop.upperAt : hop.lowerAt;
  const width = rows.width[cell]!;
  return place[cell]! + (at && width > 0 ? (0.8 * at) / width : 0);
}

function sortRow(
  row: number[],
  towards: Hop[][],
  falling: boolean,
  rows: Rows,
  place: Float64Array,
): void {
  const keys = new Map<number, number>();
  for (const cell of row) {
    const hops = towards[cell]!;
    let sum = 0;
    for (const hop of hops) {
      const gate = (falling ? hop.lowerAt : hop.upperAt) ?? 0;
      const width = rows.width[cell]!;
      sum += end(hop, falling, rows, place) - (width > 0 ? (0.8 * gate) / width : 0);
    }
    keys.set(cell, hops.length > 0 ? sum / hops.length : place[cell]!);
  }
  row.sort((a, b) => keys.get(a)! - keys.get(b)! || place[a]! - place[b]!);
}

function swapNeighbours(rows: Rows, up: Hop[][], down: Hop[][], place: Float64Array): void {
  for (let round = 0, better = true; better && round < 4; round++) {
    better = false;
    for (const row of rows.rows) {
      for (let at = 0; at + 1 < row.length; at++) {
        const [a, b] = [row[at]!, row[at + 1]!];
        const asIs = pairCrossings(a, b, up, down, rows, place);
        const swapped = pairCrossings(b, a, up, down, rows, place);
        if (swapped >= asIs) continue;
        [row[at], row[at + 1]] = [b, a];
        [place[a], place[b]] = [at + 1, at];
        better = true;
      }
    }
  }
}

/** Crossings between the wires of two neighbours, were `left` the left one. */
function pairCrossings(
  left: number,
  right: number,
  up: Hop[][],
  down: Hop[][],
  rows: Rows,
  place: Float64Array,
): number {
  let sum = 0;
  for (const [hops, upper] of [
    [up, true],
    [down, false],
  ] as const) {
    for (const a of hops[left]!) {
      const x = end(a, upper, rows, place);
      for (const b of hops[right]!) if (end(b, upper, rows, place) < x) sum++;
    }
  }
  return sum;
}

function* crossings(rows: Rows, down: Hop[][], place: Float64Array): Work<number> {
  let sum = 0;
  for (const row of rows.rows) {
    const ends: [number, number][] = [];
    for (const cell of row) {
      for (const hop of down[cell]!)
        ends.push([end(hop, true, rows, place), end(hop, false, rows, place)]);
    }
    ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    sum += inversions(ends.map((pair) => pair[1]));
    yield;
  }
  return sum;
}

/** Pairs in the wrong order, by merging. */
function inversions(values: number[]): number {
  if (values.length < 2) return 0;
  const middle = values.length >> 1;
  const [left, right] = [values.slice(0, middle), values.slice(middle)];
  let sum = inversions(left) + inversions(right);
  for (let at = 0, l = 0, r = 0; at < values.length; at++) {
    if (r >= right.length || (l < left.length && left[l]! <= right[r]!)) values[at] = left[l++]!;
    else {
      sum += left.length - l;
      values[at] = right[r++]!;
    }
  }
  return sum;
}

export function byCell(count: number, hops: Hop[], key: (hop: Hop) => number): Hop[][] {
  const lists: Hop[][] = Array.from({ length: count }, () => []);
  for (const hop of hops) lists[key(hop)]!.push(hop);
  return lists;
}

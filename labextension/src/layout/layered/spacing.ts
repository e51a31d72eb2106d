/** How near to each other cells may stand, and where their wires would like them. */

import type { Hop, Rows } from "./rows";

const ITEMS = 20;
const POINTS = 12;

/** Least distance between the middles of two neighbours. */
export function distance(left: number, right: number, rows: Rows): number {
  const point = left >= rows.elements || right >= rows.elements;
  const both = left >= rows.elements && right >= rows.elements;
  const thin = rows.width[left] === 0 || rows.width[right] === 0;
  const gap = both ? POINTS : point || thin ? POINTS + 2 : ITEMS;
  return (rows.width[left]! + rows.width[right]!) / 2 + gap;
}

/** Where a wire would like this cell to be, so that it runs straight. */
export function wish(hop: Hop, cell: number, x: number[]): number {
  const [other, theirs, ours] =
    hop.lower === cell
      ? [hop.upper, hop.upperAt, hop.lowerAt]
      : [hop.lower, hop.lowerAt, hop.upperAt];
  // Two open boxes stand in one column, whatever their gates: a chain of them would become a staircase.
  if (theirs !== null && ours !== null && theirs !== 0 && ours !== 0) return x[other]!;
  return x[other]! + (theirs ?? 0) - (ours ?? 0);
}

/** Ranks and wires -> rows of cells: elements, and the points where the trunk of a wire passes a row. */

import type { Problem } from "./problem";
import type { Arc } from "./ranks";

/** A piece of a wire between two neighbouring rows. */
export interface Hop {
  upper: number;
  lower: number;
  /** Distance of the wire's end from the middle of its cell; null: the cell has no fixed place for it. */
  upperAt: number | null;
  lowerAt: number | null;
  straight: number;
}

export interface Trunk {
  wire: number;
  source: number;
  /** Cells that it passes, in the rows below its source's. */
  cells: number[];
  arcs: Arc[];
}

export interface Rows {
  ranks: number[];
  width: number[];
  rows: number[][];
  hops: Hop[];
  trunks: Trunk[];
  /** Cells from this number on are points of trunks. */
  elements: number;
}

export function makeRows(problem: Problem, arcs: Arc[], elementRanks: number[]): Rows {
  const ranks = [...elementRanks];
  const width = [...problem.width];
  const trunks = trunksOf(arcs);
  const hops: Hop[] = [];
  const offset = (at: number | null | undefined, cell: number): number | null =>
    at === null || at === undefined ? null : at - problem.width[cell]! / 2;
  for (const trunk of trunks) {
    const start = ranks[trunk.source]!;
    const end = Math.max(...trunk.arcs.map((arc) => ranks[arc.to]!));
    const forward = !trunk.arcs[0]!.back;
    const startAt = forward ? offset(problem.wires[trunk.wire]!.at, trunk.source) : null;
    let cell = trunk.source;
    for (let row = start + 1; row < end; row++) {
      const point = ranks.length;
      ranks.push(row);
      width.push(0);
      const first = cell === trunk.source;
      hops.push({
        upper: cell,
        lower: point,
        upperAt: first ? startAt : 0,
        lowerAt: 0,
        straight: first ? 2 : 8,
      });
      trunk.cells.push(point);
      cell = point;
    }
    for (const arc of trunk.arcs) {
      const above = ranks[arc.to]! - start - 1;
      const upper = above === 0 ? trunk.source : trunk.cells[above - 1]!;
      const at = problem.wires[arc.wire]!.targets[arc.target]!.at;
      const direct = above === 0;
      hops.push({
        upper,
        lower: arc.to,
        upperAt: direct ? startAt : 0,
        lowerAt: arc.back ? null : offset(at, arc.to),
        straight: (direct ? 2 : 1.5) * problem.wires[arc.wire]!.targets[arc.target]!.weight,
      });
    }
  }
  const rows: number[][] = Array.from(
    { length: ranks.reduce((last, row) => Math.max(last, row), -1) + 1 },
    () => [],
  );
  const aside = asides(problem, arcs);
  // A point of a trunk belongs to what the wire comes from.
  for (const trunk of trunks) for (const cell of trunk.cells) aside[cell] = aside[trunk.source]!;
  for (const last of [false, true])
    ranks.forEach((row, cell) => {
      if (aside[cell] === last) rows[row]!.push(cell);
    });
  return { ranks, width, rows, hops, trunks, elements: problem.width.length };
}

/** Whether gradient flows nowhere in what an element is joined to: it stands to the right of what the picture is about. */
function asides(problem: Problem, arcs: Arc[]): boolean[] {
  const joined = problem.width.map((_, at) => at);
  const group = (at: number): number => {
    while (joined[at] !== at) at = joined[at] = joined[joined[at]!]!;
    return at;
  };
  for (const { from, to } of arcs) joined[group(from)] = group(to);
  const spine = new Set(joined.map((_, at) => (problem.flows[at] ? group(at) : -1)));
  return joined.map((_, at) => spine.size > 1 && !spine.has(group(at)));
}

/** One trunk for each wire; a wire's arcs that lead back have one each. */
function trunksOf(arcs: Arc[]): Trunk[] {
  const trunks: Trunk[] = [];
  const trunkOf = new Map<number, Trunk>();
  for (const arc of arcs) {
    let trunk = arc.back ? undefined : trunkOf.get(arc.wire);
    if (!trunk) {
      trunk = { wire: arc.wire, source: arc.from, cells: [], arcs: [] };
      trunks.push(trunk);
      if (!arc.back) trunkOf.set(arc.wire, trunk);
    }
    trunk.arcs.push(arc);
  }
  return trunks;
}

/** A drawing in layers, values flowing down: rows, order in the rows, places, and the ways of the wires. */

import type { Work } from "../work";
import { orderRows } from "./order";
import { placeCells } from "./place";
import type { Answer, Problem, Route } from "./problem";
import { acyclicArcs, rank } from "./ranks";
import { makeRows, type Rows } from "./rows";

const GAP = 24;
const WIDEST_GAP = 60;
/** How much room a wire needs to run sideways. */
const SLOPE = 0.1;
const PORTS = 14;

export function* solve(problem: Problem): Work<Answer> {
  const arcs = acyclicArcs(problem);
  const ranks = rank(problem, arcs);
  yield;
  const rows = makeRows(problem, arcs, ranks);
  yield;
  yield* orderRows(rows);
  const middle = yield* placeCells(rows);
  // Points of trunks have no width; there can be too many of them for a spread.
  const leftOf = (at: number): number => middle[at]! - (problem.width[at] ?? 0) / 2;
  const left = middle.reduce(
    (least, _, at) => Math.min(least, leftOf(at)),
    Number.POSITIVE_INFINITY,
  );
  const x = problem.width.map((width, at) => Math.round(middle[at]! - width / 2 - left));
  const cellX = middle.map((value) => Math.round(value - left));
  const ends = fixEnds(problem, rows, cellX);
  yield;
  const { tops, bottoms } = bands(problem, rows, ends, cellX);
  const fed = new Set(arcs.map((arc) => arc.to));
  const read = new Set(arcs.map((arc) => arc.from));
  const y = problem.height.map((height, at) => {
    const row = rows.ranks[at]!;
    const spare = bottoms[row]! - tops[row]! - height;
    const share = read.has(at) === fed.has(at) ? 0.5 : read.has(at) ? 1 : 0;
    return tops[row]! + Math.round(share * spare);
  });
  const routes = rows.trunks.map((trunk, number) => {
    const route: Route = {
      rank: rows.ranks[trunk.source]!,
      top: y[trunk.source]! + problem.height[trunk.source]!,
      trunk: [ends.starts[number]!, ...trunk.cells.map((cell) => cellX[cell]!)],
      stubs: trunk.arcs.map((arc, index) => ({
        target: arc.target,
        rank: rows.ranks[arc.to]!,
        x: ends.stubs[number]![index]!,
        bottom: y[arc.to]!,
        back: arc.back,
      })),
    };
    return { wire: trunk.wire, route };
  });
  const width = cellX.reduce(
    (most, middle, at) => Math.max(most, at < x.length ? x[at]! + problem.width[at]! : middle),
    0,
  );
  return { x, y, width, height: bottoms.at(-1) ?? 0, tops, bottoms, routes };
}

interface Ends {
  starts: number[];
  stubs: number[][];
}

/** Wires that may end anywhere on a border share it, in the order in which they come, so that they do not cross. */
function fixEnds(problem: Problem, rows: Rows, cellX: number[]): Ends {
  const ends: Ends = { starts: [], stubs: rows.trunks.map((trunk) => trunk.arcs.map(() => 0)) };
  const free: { cell: number; side: "top" | "bottom"; from: number; set: (x: number) => void }[] =
    [];
  const edgeOf = (cell: number): number => cellX[cell]! - Math.round(problem.width[cell]! / 2);
  rows.trunks.forEach((trunk, number) => {
    const wire = problem.wires[trunk.wire]!;
    const set = (x: number): void => {
      ends.starts[number] = x;
    };
    const towards = trunk.cells[0] ?? trunk.arcs[0]!.to;
    if (wire.at !== null && !trunk.arcs[0]!.back) set(edgeOf(trunk.source) + wire.at);
    else free.push({ cell: trunk.source, side: "bottom", from: cellX[towards]!, set });
    trunk.arcs.forEach((arc, index) => {
      const at = wire.targets[arc.target]!.at;
      const put = (x: number): void => {
        ends.stubs[number]![index] = x;
      };
      const above = rows.ranks[arc.to]! - rows.ranks[trunk.source]! - 1;
      const from =
        above === 0
          ? (ends.starts[number] ?? cellX[trunk.source]!)
          : cellX[trunk.cells[above - 1]!]!;
      if (at !== null && !arc.back) put(edgeOf(arc.to) + at);
      else free.push({ cell: arc.to, side: "top", from, set: put });
    });
  });
  const groups = new Map<string, typeof free>();
  for (const end of free) {
    const key = `${end.side} ${end.cell}`;
    const group = groups.get(key);
    if (group) group.push(end);
    else groups.set(key, [end]);
  }
  for (const group of groups.values()) {
    const cell = group[0]!.cell;
    const room = Math.max(problem.width[cell]! - 24, 0);
    const step = group.length > 1 ? Math.min(PORTS, room / (group.length - 1)) : 0;
    group.sort((a, b) => a.from - b.from);
    // A wire that comes straight down goes straight on; the others keep to its sides.
    const straight = group.findIndex((end) => Math.abs(end.from - cellX[cell]!) <= 8);
    const wide =
      straight >= 0 && Math.max(straight, group.length - 1 - straight) * step <= room / 2;
    const middle = wide ? straight : (group.length - 1) / 2;
    group.forEach((end, at) => {
      end.set(cellX[cell]! + Math.round((at - middle) * step));
    });
  }
  return ends;
}

/** Upper and lower border of every row; the farther wires run sideways between two, the farther these are apart. */
function bands(
  problem: Problem,
  rows: Rows,
  ends: Ends,
  cellX: number[],
): { tops: number[]; bottoms: number[] } {
  const heights = rows.rows.map(() => 0);
  problem.height.forEach((height, at) => {
    const row = rows.ranks[at]!;
    heights[row] = Math.max(heights[row]!, height);
  });
  const aside = rows.rows.map(() => 0);
  rows.trunks.forEach((trunk, number) => {
    trunk.arcs.forEach((arc, index) => {
      const above = rows.ranks[arc.to]! - 1;
      const cell = trunk.cells[above - rows.ranks[trunk.source]! - 1];
      const from = cell === undefined ? ends.starts[number]! : cellX[cell]!;
      aside[above] = Math.max(aside[above]!, Math.abs(ends.stubs[number]![index]! - from));
    });
  });
  const tops: number[] = [];
  const bottoms: number[] = [];
  let y = 0;
  heights.forEach((height, row) => {
    tops.push(y);
    bottoms.push(y + height);
    y += height + Math.round(Math.min(WIDEST_GAP, GAP + SLOPE * aside[row]!));
  });
  return { tops, bottoms };
}

/** Which row every element stands in: below all that it needs, and no farther from its readers than it must. */

import type { Problem } from "./problem";

export interface Arc {
  from: number;
  to: number;
  wire: number;
  target: number;
  /** Drawn against its direction, because the graph has a cycle there. */
  back: boolean;
}

export function acyclicArcs(problem: Problem): Arc[] {
  const arcs: Arc[] = [];
  problem.wires.forEach((wire, number) => {
    wire.targets.forEach((target, index) => {
      arcs.push({
        from: wire.source,
        to: target.element,
        wire: number,
        target: index,
        back: false,
      });
    });
  });
  const out = arcsBy(problem.width.length, arcs, (arc) => arc.from);
  const state = new Uint8Array(problem.width.length);
  const next = new Int32Array(problem.width.length);
  for (let start = 0; start < state.length; start++) {
    if (state[start] !== 0) continue;
    const stack = [start];
    state[start] = 1;
    while (stack.length > 0) {
      const at = stack[stack.length - 1]!;
      const arc = out[at]![next[at]!++];
      if (!arc) {
        state[at] = 2;
        stack.pop();
      } else if (state[arc.to] === 1) arc.back = true;
      else if (state[arc.to] === 0) {
        state[arc.to] = 1;
        stack.push(arc.to);
      }
    }
  }
  for (const arc of arcs) if (arc.back) [arc.from, arc.to] = [arc.to, arc.from];
  return arcs.filter((arc) => arc.from !== arc.to);
}

export function rank(problem: Problem, arcs: Arc[]): number[] {
  const count = problem.width.length;
  const into = arcsBy(count, arcs, (arc) => arc.to);
  const out = arcsBy(count, arcs, (arc) => arc.from);
  const order = topological(count, into, out);
  const hasEntries = problem.role.includes("entry");
  const ranks: number[] = new Array(count).fill(0);
  for (const at of order) {
    let lowest = hasEntries && problem.role[at] !== "entry" ? 1 : 0;
    for (const arc of into[at]!) lowest = Math.max(lowest, ranks[arc.from]! + 1);
    ranks[at] = lowest;
  }
  pullDown(problem, order, into, out, ranks);
  spreadLoners(problem, into, out, ranks, hasEntries ? 1 : 0);
  let last = 0;
  for (let at = 0; at < count; at++)
    if (problem.role[at] !== "exit") last = Math.max(last, ranks[at]!);
  for (let at = 0; at < count; at++) if (problem.role[at] === "exit") ranks[at] = last + 1;
  return ranks;
}

/** What has more readers than sources, or none, goes down to right above its first reader. */
function pullDown(
  problem: Problem,
  order: number[],
  into: Arc[][],
  out: Arc[][],
  ranks: number[],
): void {
  for (let at = order.length - 1; at >= 0; at--) {
    const element = order[at]!;
    if (problem.role[element] !== "item") continue;
    const readers = out[element]!.filter((arc) => problem.role[arc.to] !== "exit");
    const sources = new Set(into[element]!.map((arc) => arc.from));
    if (readers.length === 0 || sources.size > 1) continue;
    if (sources.size === 1 && readers.length < 2 && ranks[readers[0]!.to]! - 1 === ranks[element])
      continue;
    const nearest = Math.min(...readers.map((arc) => ranks[arc.to]!)) - 1;
    // One source, one reader: closer to the source reads better, unless that is where all enters.
    const entered = [...sources].every((source) => problem.role[source] === "entry");
    if (sources.size === 0 || entered) ranks[element] = Math.max(ranks[element]!, nearest);
  }
}

/** What nothing is joined to fills the rows from the top, instead of one long row. */
function spreadLoners(
  problem: Problem,
  into: Arc[][],
  out: Arc[][],
  ranks: number[],
  first: number,
): void {
  const loners = ranks
    .map((_, at) => at)
    .filter((at) => problem.role[at] === "item" && into[at]!.length + out[at]!.length === 0);
  if (loners.length < 3) return;
  const rows = Math.max(Math.ceil(Math.sqrt(loners.length)), Math.max(...ranks) - first + 1);
  loners.forEach((at, number) => {
    ranks[at] = first + (number % rows);
  });
}

function topological(count: number, into: Arc[][], out: Arc[][]): number[] {
  const missing = into.map((arcs) => arcs.length);
  const order: number[] = [];
  for (let at = 0; at < count; at++) if (missing[at] === 0) order.push(at);
  for (let at = 0; at < order.length; at++) {
    for (const arc of out[order[at]!]!) if (--missing[arc.to]! === 0) order.push(arc.to);
  }
  return order;
}

export function arcsBy(count: number, arcs: Arc[], key: (arc: Arc) => number): Arc[][] {
  const lists: Arc[][] = Array.from({ length: count }, () => []);
  for (const arc of arcs) lists[key(arc)]!.push(arc);
  return lists;
}

/** Which nodes a filter or a highlighted path is about, and which boxes hold them. */

import type { Box, Tree } from "../../layout/box";
import type { CaptureGraph, GraphNode } from "../../model/graph";
import type { Filter } from "../../model/graph_view";

/** Boxes that hold a node of the set, by box id. */
export function holding(tree: Tree, nodes: Set<number>): Uint8Array {
  const marks = new Uint8Array(tree.boxes.length);
  for (const id of nodes) {
    for (const box of tree.boxesOf.get(id)) {
      for (let at: Box | null = box; at && marks[at.id] === 0; at = at.parent) marks[at.id] = 1;
    }
  }
  return marks;
}

/** The nodes that pass; null for all. */
export function filtered(tree: Tree, filter: Filter): Set<number> | null {
  const { parameters, device, dtype } = filter;
  if (!parameters && !device && !dtype) return null;
  const passes = (node: GraphNode): boolean =>
    (!parameters || node.kind === "parameter") &&
    (!device || node.device === device) &&
    (!dtype || node.dtype === dtype);
  return new Set(tree.graph.nodes.filter(passes).map((node) => node.id));
}

/** The way of gradient through a node: down to where backward starts, and up to the leaves that learn. */
export function gradientPath(graph: CaptureGraph, start: number): Set<number> {
  const readers = new Map<number, number[]>();
  const sources = new Map<number, number[]>();
  for (const { source, target, kind } of graph.edges) {
    if (kind !== "gradient") continue;
    readers.set(source, [...(readers.get(source) ?? []), target]);
    sources.set(target, [...(sources.get(target) ?? []), source]);
  }
  const ends = new Set(graph.nodes.filter((node) => node.root).map((node) => node.id));
  const below = reach(start, readers);
  // Only what leads to a start of backward; all, where there is none.
  const useful = [...ends].some((id) => below.has(id))
    ? new Set([...ends].filter((id) => below.has(id)).flatMap((id) => [...reach(id, sources)]))
    : below;
  const path = new Set([...below].filter((id) => useful.has(id)));
  for (const id of reach(start, sources)) path.add(id);
  return path;
}

function reach(start: number, next: Map<number, number[]>): Set<number> {
  const seen = new Set([start]);
  const stack = [start];
  while (stack.length > 0) {
    for (const id of next.get(stack.pop()!) ?? []) {
      if (seen.has(id)) continue;
      seen.add(id);
      stack.push(id);
    }
  }
  return seen;
}

/** What led to no backward, finding or error: of a cell that also builds the model, most of its ops. */

import type { CaptureGraph } from "../model/graph";
import { adopt, type Box, boxAround } from "./box";
import { isLeaf } from "./leaves";

/** Fewer are drawn one by one. */
const FEW = 12;
/** Of what ran before all that matters: how the model and its data were made. */
const FEW_BEFORE = 2;

/** Ids of the nodes that the picture is about; all, of a program that never called backward. */
export function relevant(graph: CaptureGraph): Set<number> {
  const stack = graph.nodes
    .filter((node) => node.root || node.failed || node.findings.length > 0 || node.kind === "step")
    .map((node) => node.id);
  if (!graph.nodes.some((node) => node.root || node.failed || node.findings.length > 0)) {
    return new Set(graph.nodes.map((node) => node.id));
  }
  // Edges by target, each leading on to the next of its target: a list a node would be 50,000 lists.
  const { edges } = graph;
  const next = new Int32Array(edges.length);
  const newest: number[] = [];
  for (let at = 0; at < edges.length; at++) {
    const { target } = edges[at]!;
    next[at] = newest[target] ?? -1;
    newest[target] = at;
  }
  const leading = new Set(stack);
  while (stack.length > 0) {
    for (let at = newest[stack.pop()!] ?? -1; at >= 0; at = next[at]!) {
      const { source } = edges[at]!;
      if (leading.has(source)) continue;
      leading.add(source);
      stack.push(source);
    }
  }
  return leading;
}

/**
 * Outside the modules, ops that led to nothing become one box, and what initialised the model one of its own. They are
 * drawn after all others.
 */
export function foldApart(
  graph: CaptureGraph,
  root: Box,
  shown: Set<number>,
  cut: Set<number>,
): void {
  const idle = root.children.filter(
    (box) => box.node && !shown.has(box.node.id) && !cut.has(box.node.id),
  );
  const begins = graph.nodes.find(
    (node) => !isLeaf(node) && shown.has(node.id) && (node.tracked || node.call >= 0),
  );
  const before = begins ? idle.filter((box) => box.first < begins.id) : [];
  const others = idle.length - before.length;
  if (before.length > FEW_BEFORE && others <= FEW) foldInto(root, "setup", before);
  else if (idle.length > FEW) foldInto(root, "apart", idle);
}

function foldInto(root: Box, kind: "apart" | "setup", boxes: Box[]): void {
  const gone = new Set(boxes);
  root.children = root.children.filter((box) => !gone.has(box));
  adopt(root, boxAround(kind, -1, boxes));
}

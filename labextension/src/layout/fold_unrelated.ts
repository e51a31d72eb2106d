/** What led to no backward, finding or error: of a cell that also builds the model, most of its ops. */

import type { CaptureGraph } from "../model/graph";
import { adopt, type Box, boxAround } from "./box";

/** Fewer are drawn one by one. */
const FEW = 12;

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

/** Outside the modules, ops that led to nothing become one box, drawn after all others. */
export function foldApart(root: Box, shown: Set<number>, cut: Set<number>): void {
  const idle = root.children.filter(
    (box) => box.node && !shown.has(box.node.id) && !cut.has(box.node.id),
  );
  if (idle.length <= FEW) return;
  const gone = new Set(idle);
  root.children = root.children.filter((box) => !gone.has(box));
  adopt(root, boxAround("apart", -1, idle));
}

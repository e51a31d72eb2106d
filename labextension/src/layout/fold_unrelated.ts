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
  const sources = new Map<number, number[]>();
  for (const edge of graph.edges) {
    const list = sources.get(edge.target);
    if (list) list.push(edge.source);
    else sources.set(edge.target, [edge.source]);
  }
  const leading = new Set(stack);
  while (stack.length > 0) {
    for (const source of sources.get(stack.pop()!) ?? []) {
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

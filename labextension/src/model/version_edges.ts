/** Saver -> modifier: what a node had saved was modified there, from one version to the next. */

import type { Capture } from "./capture";
import type { GraphEdge, GraphNode } from "./graph";

/** More writes to one saved tensor than this are not drawn one by one. */
const MOST = 4;

interface Write {
  node: number;
  before: number;
  after: number;
}

export function versionEdges(capture: Capture, nodes: readonly GraphNode[]): GraphEdge[] {
  const savers = nodes.filter((node) => node.modified.length > 0);
  if (savers.length === 0) return [];
  const writes = writesOf(capture);
  return savers.flatMap((saver) => edgesFrom(capture, saver, writes));
}

function edgesFrom(capture: Capture, saver: GraphNode, writes: Map<number, Write[]>): GraphEdge[] {
  const edges: GraphEdge[] = [];
  for (const { tensor, status, saved } of capture.saved(saver.id)) {
    if (status !== "modified") continue;
    // Of its own result a node saves no tensor that the program has.
    const later = (writes.get(tensor < 0 ? saver.tensor : tensor) ?? []).filter(
      (write) => write.after > saved,
    );
    for (const { node, before, after } of later.slice(0, MOST)) {
      if (node === saver.id) continue;
      edges.push({
        source: saver.id,
        target: node,
        kind: "modified",
        cause: `v${before}→v${after}`,
        site: -1,
        live: true,
        shape: "",
      });
    }
  }
  return edges;
}

/** Tensor -> the nodes that wrote to it, where its version moved. */
function writesOf(capture: Capture): Map<number, Write[]> {
  const writes = new Map<number, Write[]>();
  const { node } = capture.data.ops;
  for (let op = 0; op < node.length; op++) {
    if (node[op]! < 0) continue;
    for (const { tensor, before, after } of capture.writes(op)) {
      if (after <= before) continue;
      const write = { node: node[op]!, before, after };
      const others = writes.get(tensor);
      if (others) others.push(write);
      else writes.set(tensor, [write]);
    }
  }
  return writes;
}

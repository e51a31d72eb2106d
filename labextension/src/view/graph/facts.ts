/** What is true of all that is in a box, gathered once. */

import type { Box, Tree } from "../../layout/box";
import { isLeaf } from "../../layout/leaves";

export interface Facts {
  /** Gradient can flow through something inside. */
  tracked: boolean;
  root: boolean;
  hooks: number;
  recomputed: boolean;
  /** The grad mode that all inside ran under; "" for the usual one, or several. */
  region: string;
  /** Op at which the first thing inside happened; leaves do not count, but alone. */
  op: number;
  ops: number;
}

export function gatherFacts(tree: Tree): Facts[] {
  const facts: Facts[] = new Array(tree.boxes.length);
  for (let id = tree.boxes.length - 1; id >= 0; id--) facts[id] = factsOf(tree.boxes[id]!, facts);
  // A leaf first exists when its first reader runs.
  tree.graph.edges.forEach((_, number) => {
    const ends = tree.ends[number];
    if (!ends) return;
    const [from, to] = [facts[ends[0].id]!, facts[ends[1].id]!];
    if (from.ops === 0) from.op = Math.min(from.op, to.op);
  });
  return facts;
}

function factsOf(box: Box, facts: Facts[]): Facts {
  const node = box.node;
  if (node) {
    const leaf = isLeaf(node);
    return {
      tracked: node.tracked,
      root: node.root,
      hooks: node.hooks,
      recomputed: node.recomputed,
      region: node.region,
      op: node.op >= 0 ? node.op : Number.MAX_SAFE_INTEGER,
      ops: leaf ? 0 : 1,
    };
  }
  const inside = box.children.map((child) => facts[child.id]!);
  const busy = inside.filter((one) => one.ops > 0);
  const regions = new Set(busy.map((one) => one.region));
  return {
    tracked: (busy.length > 0 ? busy : inside).some((one) => one.tracked),
    root: inside.some((one) => one.root),
    hooks: inside.reduce((sum, one) => sum + one.hooks, 0),
    recomputed: busy.length > 0 && busy.every((one) => one.recomputed),
    region: regions.size === 1 ? [...regions][0]! : "",
    op: Math.min(...inside.map((one) => one.op)),
    ops: busy.length,
  };
}

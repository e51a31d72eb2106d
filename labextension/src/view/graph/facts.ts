/** What is true of all that is in a box, gathered once. */

import { type Box, nodesOf, type Tree } from "../../layout/box";
import { isLeaf } from "../../layout/leaves";

export interface Facts {
  /** Gradient can flow through something inside. */
  tracked: boolean;
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
      tracked: nodesOf(box).some(({ tracked }) => tracked),
      region: node.region,
      op: node.op >= 0 ? node.op : Number.MAX_SAFE_INTEGER,
      ops: leaf ? 0 : 1,
    };
  }
  const all: Facts = {
    tracked: false,
    region: "",
    op: Number.MAX_SAFE_INTEGER,
    ops: 0,
  };
  let leafTracked = false;
  for (const child of box.children) {
    const one = facts[child.id]!;
    all.op = Math.min(all.op, one.op);
    if (one.ops === 0) {
      leafTracked ||= one.tracked;
      continue;
    }
    all.tracked ||= one.tracked;
    if (all.ops === 0) all.region = one.region;
    else if (all.region !== one.region) all.region = "";
    all.ops++;
  }
  if (all.ops === 0) return { ...all, tracked: leafTracked };
  return all;
}

/** What went wrong, where, and in which boxes around it that shows. */

import { type Box, commonBox, NONE, type Tree, type Troubles } from "./box";

export function markTroubles(tree: Tree): void {
  for (const box of tree.boxes) {
    const node = box.node;
    if (!node || !(node.failed || node.modified.length > 0 || node.findings.length > 0)) continue;
    for (let at: Box | null = box; at; at = at.parent) {
      const troubles = own(at);
      if (node.failed) troubles.failed++;
      troubles.modified += node.modified.length;
      for (const finding of node.findings) troubles.findings.add(finding);
    }
  }
  tree.graph.edges.forEach((edge, number) => {
    const ends = tree.ends[number];
    if (edge.kind !== "severed" || !edge.live || !ends) return;
    for (let at: Box | null = commonBox(...ends); at; at = at.parent) {
      const { cuts } = own(at);
      cuts.set(edge.cause, (cuts.get(edge.cause) ?? 0) + 1);
    }
  });
}

function own(box: Box): Troubles {
  if (box.troubles === NONE) {
    box.troubles = { failed: 0, modified: 0, cuts: new Map(), findings: new Set() };
  }
  return box.troubles;
}

export function troubled(box: Box): boolean {
  const { failed, modified, cuts, findings } = box.troubles;
  return failed > 0 || modified > 0 || cuts.size > 0 || findings.size > 0;
}

/** The nodes to look at first: those of the first finding, else where backward failed, was spoiled or was cut. */
export function firstProblem(tree: Tree): Box[] {
  const nodes = tree.graph.nodes;
  let first = Number.MAX_SAFE_INTEGER;
  for (const node of nodes) for (const finding of node.findings) first = Math.min(first, finding);
  let found = nodes.filter((node) => node.findings.includes(first)).map((node) => node.id);
  if (found.length === 0) {
    found = nodes.filter((node) => node.failed || node.modified.length > 0).map((node) => node.id);
  }
  if (found.length === 0) {
    const cut = tree.graph.edges.find((edge) => edge.kind === "severed" && edge.live);
    if (cut) found = [cut.source, cut.target];
  }
  return found.flatMap((id) => tree.boxesOf.get(id) ?? []).slice(0, 8);
}

/** What went wrong, where, and in which boxes around it that shows. */

import { type Box, commonBox, type Tree } from "./box";

export function markTroubles(tree: Tree): void {
  for (const boxes of tree.boxesOf.values()) {
    for (const box of boxes) {
      const node = box.node!;
      for (let at: Box | null = box; at; at = at.parent) {
        if (node.failed) at.troubles.failed++;
        at.troubles.modified += node.modified.length;
        for (const finding of node.findings) at.troubles.findings.add(finding);
      }
    }
  }
  tree.graph.edges.forEach((edge, number) => {
    const ends = tree.ends[number];
    if (edge.kind !== "severed" || !edge.live || !ends) return;
    for (let at: Box | null = commonBox(...ends); at; at = at.parent) {
      at.troubles.cuts.set(edge.cause, (at.troubles.cuts.get(edge.cause) ?? 0) + 1);
    }
  });
}

export function troubled(box: Box): boolean {
  const { failed, modified, cuts, findings } = box.troubles;
  return failed > 0 || modified > 0 || cuts.size > 0 || findings.size > 0;
}

/** The nodes to look at first: those of the first finding, else where backward failed, was spoiled or was cut. */
export function firstProblem(tree: Tree): Box[] {
  const nodes = tree.graph.nodes;
  const finding = Math.min(...nodes.flatMap((node) => node.findings), Number.MAX_SAFE_INTEGER);
  let found = nodes.filter((node) => node.findings.includes(finding)).map((node) => node.id);
  if (found.length === 0) {
    found = nodes.filter((node) => node.failed || node.modified.length > 0).map((node) => node.id);
  }
  if (found.length === 0) {
    const cut = tree.graph.edges.find((edge) => edge.kind === "severed" && edge.live);
    if (cut) found = [cut.source, cut.target];
  }
  return found.flatMap((id) => tree.boxesOf.get(id) ?? []).slice(0, 8);
}

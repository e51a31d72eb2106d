/** What went wrong, where, and in which boxes around it that shows. */

import type { CaptureGraph, GraphNode, Severity } from "../model/graph";
import { severityOfCut, severityOfNode, worse } from "../model/severity";
import { type Box, commonBox, NONE, nodesOf, type Tree, type Troubles } from "./box";

export function markTroubles(tree: Tree): void {
  const { graph } = tree;
  for (const box of tree.boxes) for (const node of nodesOf(box)) markNode(graph, box, node);
  graph.edges.forEach((edge, number) => {
    const ends = tree.ends[number];
    const severity = ends ? severityOfCut(graph, edge, [ends[0].node, ends[1].node]) : "";
    if (!ends || !severity) return;
    tree.cuts.set(number, severity);
    for (let at: Box | null = commonBox(...ends); at; at = at.parent) {
      const troubles = troublesIn(at);
      troubles.worst = worse(troubles.worst, severity);
      if (edge.kind === "severed")
        troubles.cuts.set(edge.cause, (troubles.cuts.get(edge.cause) ?? 0) + 1);
    }
  });
}

function markNode(graph: CaptureGraph, box: Box, node: GraphNode): void {
  const severity = severityOfNode(graph, node);
  if (!severity) return;
  for (let at: Box | null = box; at; at = at.parent) {
    const troubles = troublesIn(at);
    if (node.failed) troubles.failed++;
    troubles.modified += node.modified.length;
    troubles.worst = worse(troubles.worst, severity);
    for (const finding of node.findings) troubles.findings.add(finding);
  }
}

function troublesIn(box: Box): Troubles {
  if (box.troubles === NONE) {
    box.troubles = { failed: 0, modified: 0, cuts: new Map(), findings: new Set(), worst: "" };
  }
  return box.troubles;
}

/** What is only worth seeing is a problem where nothing worse happened. */
export function isProblem(tree: Tree, severity: Severity | ""): boolean {
  return severity !== "" && (severity !== "info" || tree.root.troubles.worst === "info");
}

/** Ids of the nodes that a problem is about, ends of cuts among them. */
export function problemNodes(tree: Tree): Set<number> {
  const ids = new Set<number>();
  for (const box of tree.boxes) {
    if (!box.node || !isProblem(tree, box.troubles.worst)) continue;
    for (const node of nodesOf(box)) if (severityOfNode(tree.graph, node)) ids.add(node.id);
  }
  for (const [number, severity] of tree.cuts) {
    const { source, target } = tree.graph.edges[number]!;
    if (isProblem(tree, severity)) ids.add(source).add(target);
  }
  return ids;
}

/** The nodes to look at first: those of the first finding, else where backward failed, was spoiled or was cut. */
export function firstProblem(tree: Tree): Box[] {
  const nodes = tree.graph.nodes;
  let first = Number.MAX_SAFE_INTEGER;
  for (const node of nodes) for (const finding of node.findings) first = Math.min(first, finding);
  let ids = nodes.filter((node) => node.findings.includes(first)).map((node) => node.id);
  if (ids.length === 0) {
    ids = nodes.filter((node) => node.failed || node.modified.length > 0).map((node) => node.id);
  }
  if (ids.length === 0) {
    const [cut] = tree.cuts.keys();
    const edge = cut === undefined ? undefined : tree.graph.edges[cut];
    if (edge) ids = [edge.source, edge.target];
  }
  return foremost(ids.flatMap((id) => tree.boxesOf.get(id))).slice(0, 8);
}

/**
 * Where parameters are used; where they are only made, if that is all. Nobody opens the initialisation without need. Of
 * what a loop does again, and of a parameter that is used again, the first.
 */
export function foremost(boxes: Box[]): Box[] {
  const outside = boxes.filter((box) => !inSetup(box));
  const met = new Set<string | number>();
  return (outside.length ? outside : boxes).filter(({ id, node }) => {
    const key = !node ? `box ${id}` : node.site < 0 ? node.id : `${node.site} ${node.name}`;
    return !met.has(key) && met.add(key);
  });
}

function inSetup(box: Box): boolean {
  for (let at: Box | null = box; at; at = at.parent) if (at.kind === "setup") return true;
  return false;
}

/** Where tensors are drawn: as deep as their readers allow, once in each outermost call that reads them. */

import type { CaptureGraph, GraphNode } from "../model/graph";
import { adopt, type Box, boxAround, commonBox, newBox } from "./box";

const LEAVES: ReadonlySet<string> = new Set(["parameter", "buffer", "input", "gradient"]);
/** More leaves than this that the same boxes read are one box. */
const FEW = 3;

export const isLeaf = (node: GraphNode): boolean => LEAVES.has(node.kind);

/** Puts every leaf into the tree under `root`, inputs outside all modules; returns the box for each (leaf, neighbour) as a function. */
export function placeLeaves(
  graph: CaptureGraph,
  root: Box,
  boxOf: readonly (Box | undefined)[],
): (leaf: number, neighbour: Box) => Box | undefined {
  const neighbours = new Map<number, Box[]>();
  for (const node of graph.nodes) if (isLeaf(node)) neighbours.set(node.id, []);
  for (const edge of graph.edges) {
    const source = boxOf[edge.source];
    const target = boxOf[edge.target];
    if (source && target) continue;
    // Only leaves have no box yet.
    if (target && !source) neighbours.get(edge.source)?.push(target);
    if (source && !target) neighbours.get(edge.target)?.push(source);
  }
  const placed = new Map<number, Box | Map<Box, Box>>();
  for (const node of graph.nodes) {
    const { id } = node;
    const around = neighbours.get(id);
    if (!around) continue;
    if (around.length === 0 || node.kind === "input") {
      placed.set(id, newLeaf(node, root));
      continue;
    }
    const outermost = outermostOf(around[0]!, root);
    if (around.every((box) => outermostOf(box, root) === outermost)) {
      placed.set(id, newLeaf(node, commonScope(around)));
      continue;
    }
    const homes = new Map<Box, Box>();
    for (const [outer, readers] of grouped(around, root)) {
      homes.set(outer, newLeaf(node, commonScope(readers)));
    }
    placed.set(id, homes);
  }
  return (leaf, neighbour) => {
    const homes = placed.get(leaf);
    return homes instanceof Map ? homes.get(outermostOf(neighbour, root)) : homes;
  };
}

function commonScope(readers: Box[]): Box {
  let scope = readers[0]!.parent!;
  for (const reader of readers) scope = commonBox(scope, reader.parent!);
  return scope;
}

/** Readers by the outermost module call that they are in. */
function grouped(around: Box[], root: Box): Map<Box, Box[]> {
  const groups = new Map<Box, Box[]>();
  for (const box of around) {
    const outermost = outermostOf(box, root);
    const group = groups.get(outermost);
    if (group) group.push(box);
    else groups.set(outermost, [box]);
  }
  return groups;
}

function outermostOf(box: Box, root: Box): Box {
  let outermost = root;
  for (let at: Box | null = box; at; at = at.parent) if (at.kind === "module") outermost = at;
  return outermost;
}

function newLeaf(node: GraphNode, scope: Box): Box {
  const leaf = newBox("node", scope.call, node);
  leaf.depth = scope.depth + 1;
  adopt(scope, leaf);
  return leaf;
}

/** In every box, many leaves of one kind with the same readers become one crowd. */
export function foldCrowds(root: Box, readersOf: (leaf: Box) => Box[]): void {
  const visit = (scope: Box): void => {
    for (const child of scope.children) if (child.children.length > 0) visit(child);
    const leaves = scope.children.filter((child) => child.node && isLeaf(child.node));
    if (leaves.length > FEW) foldLeaves(scope, leaves, readersOf);
    scope.children.sort((a, b) => a.first - b.first);
  };
  visit(root);
}

function foldLeaves(scope: Box, leaves: Box[], readersOf: (leaf: Box) => Box[]): void {
  const crowds = new Map<string, Box[]>();
  const numbers = new Map(scope.children.map((child, number) => [child, number]));
  for (const child of leaves) {
    const readers = new Set(readersOf(child).map((box) => numbers.get(childIn(scope, box)) ?? -1));
    const key = `${child.node!.kind} ${child.node!.tracked} ${[...readers].sort().join()}`;
    const crowd = crowds.get(key);
    if (crowd) crowd.push(child);
    else crowds.set(key, [child]);
  }
  for (const members of crowds.values()) {
    if (members.length <= FEW) continue;
    const gone = new Set(members);
    scope.children = scope.children.filter((child) => !gone.has(child));
    adopt(scope, boxAround("crowd", scope.call, members));
  }
}

function childIn(scope: Box, inner: Box): Box {
  let box = inner;
  while (box.parent && box.parent !== scope) box = box.parent;
  return box;
}

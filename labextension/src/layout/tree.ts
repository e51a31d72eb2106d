/** Capture -> boxes in boxes: one for each module call, folded so that none holds too many. */

import type { CaptureGraph } from "../model/graph";
import { markComputedAgain } from "./again";
import { adopt, type Box, newBox, Places, type Tree } from "./box";
import { fold } from "./fold";
import { foldApart, relevant } from "./fold_unrelated";
import { foldCrowds, isLeaf, placeLeaves } from "./leaves";
import { markTroubles } from "./problems";
import { recomputedIn } from "./recomputed";
import { Signatures } from "./signature";

export function buildTree(graph: CaptureGraph): Tree {
  const root = newBox("root", -1);
  const boxOf: (Box | undefined)[] = [];
  placeOps(graph, root, boxOf);
  const shown = relevant(graph);
  const cut = new Set<number>();
  for (const { kind, source, target } of graph.edges) {
    if (kind === "severed" || kind === "modified") cut.add(source).add(target);
  }
  foldApart(graph, root, shown, cut);
  const signatures = new Signatures(new Map(graph.calls.map((call) => [call.id, call])));
  foldScopes(root, signatures);
  measure(root, 0, 0);
  const leafOf = placeLeaves(graph, root, boxOf);
  const ends = graph.edges.map((edge): [Box, Box] | null => {
    const source = boxOf[edge.source];
    const target = boxOf[edge.target];
    const from = source ?? (target && leafOf(edge.source, target));
    const to = target ?? (source && leafOf(edge.target, source));
    return from && to ? [from, to] : null;
  });
  const neighbours = new Map<Box, Box[]>();
  for (const pair of ends) {
    if (!pair) continue;
    if (pair[0].node && isLeaf(pair[0].node)) push(neighbours, pair[0], pair[1]);
    if (pair[1].node && isLeaf(pair[1].node)) push(neighbours, pair[1], pair[0]);
  }
  foldCrowds(root, (leaf) => neighbours.get(leaf) ?? []);
  measure(root, 0, 0);
  graph.edges.forEach(({ kind }, number) => {
    for (const end of (kind === "gradient" && ends[number]) || [])
      for (let at: Box | null = end; at && !at.flows; at = at.parent) at.flows = true;
  });
  const tree: Tree = { graph, boxes: [], root, boxesOf: new Places(), ends, cuts: new Map() };
  number(tree, root);
  markTroubles(tree);
  if (graph.nodes.some((node) => node.recomputed)) markComputedAgain(root);
  return tree;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/**
 * Every op into the call that it ran in; calls in which nothing ran are not drawn. What a checkpoint computed again is
 * drawn where it was computed first.
 */
function placeOps(graph: CaptureGraph, root: Box, boxOf: (Box | undefined)[]): void {
  const calls = new Map(graph.calls.map((call) => [call.id, call]));
  const scopes = new Map<number, Box>([[-1, root]]);
  const again = recomputedIn(graph);
  const scopeOf = (ran: number): Box => {
    const id = again.calls.get(ran) ?? ran;
    const scope = scopes.get(id);
    if (scope) return scope;
    const call = calls.get(id);
    if (!call) return root;
    const box = newBox("module", id);
    scopes.set(id, box);
    adopt(scopeOf(call.parent), box);
    return box;
  };
  const callOf = callsOfStrays(graph);
  for (const node of graph.nodes) {
    if (isLeaf(node)) continue;
    const twin = boxOf[again.twins.get(node.id) ?? -1];
    if (twin) {
      twin.again = [...twin.again, node];
      boxOf[node.id] = twin;
      continue;
    }
    const scope = scopeOf(callOf.get(node.id) ?? again.homes.get(node.id) ?? node.call);
    const box = newBox("node", scope.call, node);
    box.computedAgain = node.recomputed && (again.homes.has(node.id) || again.calls.has(node.call));
    boxOf[node.id] = box;
    adopt(scope, box);
  }
}

/** An autograd node that no recorded call made is drawn where what it feeds is. */
function callsOfStrays(graph: CaptureGraph): Map<number, number> {
  const callOf = new Map<number, number>();
  const strays = new Set(
    graph.nodes.filter((n) => n.kind === "autograd" && n.call < 0).map((n) => n.id),
  );
  if (strays.size === 0) return callOf;
  const calls = new Map(graph.nodes.map((node) => [node.id, node.call]));
  for (let at = graph.edges.length - 1; at >= 0; at--) {
    const edge = graph.edges[at]!;
    if (!strays.has(edge.source)) continue;
    const call = callOf.get(edge.target) ?? calls.get(edge.target) ?? -1;
    if (call >= 0) callOf.set(edge.source, call);
  }
  return callOf;
}

function foldScopes(scope: Box, signatures: Signatures): void {
  for (const child of scope.children) {
    if (child.children.length === 0) continue;
    foldScopes(child, signatures);
    scope.first = Math.min(scope.first, child.first);
  }
  scope.children.sort((a, b) => a.first - b.first);
  const folded = fold(scope.children, scope.call, signatures);
  scope.children = [];
  for (const child of folded) adopt(scope, child);
}

function measure(box: Box, depth: number, modules: number): void {
  box.depth = depth;
  box.modules = modules + (box.kind === "module" ? 1 : 0);
  if (box.children.length > 0) box.size = 0;
  for (const child of box.children) {
    child.parent = box;
    measure(child, depth + 1, box.modules);
    box.size += child.size;
    box.first = Math.min(box.first, child.first);
  }
}

function number(tree: Tree, box: Box): void {
  box.id = tree.boxes.length;
  tree.boxes.push(box);
  if (box.node) tree.boxesOf.add(box.node.id, box);
  for (const { id } of box.again) tree.boxesOf.add(id, box);
  for (const child of box.children) number(tree, child);
}

/** A graph -> only the nodes of a problem, and between them one stand-in for all that lies there. */

import { counted } from "../model/said";
import type { CaptureGraph, GraphEdge, GraphNode } from "./graph";
import { opName } from "./shown";

/** Kept nodes: which of them lead to a node, or are led to, is a bit each. */
export const MOST = 30;

export interface Compact {
  graph: CaptureGraph;
  /** Stand-in -> the nodes that it stands for. */
  members: Map<number, number[]>;
}

/** `kept`: the nodes of the problem, the most important first. */
export function compact(whole: CaptureGraph, kept: readonly number[]): Compact {
  const keeps = kept.slice(0, MOST);
  const bits = new Map(keeps.map((id, n) => [id, 1 << n]));
  const above = reached(whole, keeps, bits, "target");
  const below = reached(whole, keeps, bits, "source");
  const groups = new Map<string, number[]>();
  const standIn = new Map<number, number>(keeps.map((id) => [id, id]));
  for (const { id, op, tracked } of whole.nodes) {
    // What leads to no node of the problem, or is a tensor at its beginning, says nothing of it.
    if (bits.has(id) || !below[id] || op < 0 || (!above[id] && !tracked)) continue;
    // Nodes with the same ends: no way leads out of such a group and back into it.
    const key = `${above[id]} ${below[id]}`;
    const group = groups.get(key);
    if (group) group.push(id);
    else groups.set(key, [id]);
  }
  const members = new Map<number, number[]>();
  let next = whole.nodes.length;
  for (const group of groups.values()) {
    members.set(next, group);
    for (const id of group) standIn.set(id, next);
    next++;
  }
  const nodes = [
    ...keeps.map((id) => flat(whole.nodes[id]!)),
    ...[...members].map(([id, group]) => standInOf(id, group, whole)),
  ];
  const graph = { ...whole, nodes, edges: joined(whole.edges, standIn), calls: [] };
  return { graph, members };
}

/** Of each node the kept ones from which it is reached along the edges: towards their targets, or their sources. */
function reached(
  { nodes, edges }: CaptureGraph,
  keeps: readonly number[],
  bits: Map<number, number>,
  towards: "source" | "target",
): Int32Array {
  const from = towards === "target" ? "source" : "target";
  const next = new Map<number, number[]>();
  for (const edge of edges) {
    if (edge.kind === "modified") continue;
    const others = next.get(edge[from]);
    if (others) others.push(edge[towards]);
    else next.set(edge[from], [edge[towards]]);
  }
  const marks = new Int32Array(nodes.length);
  for (const start of keeps) {
    const bit = bits.get(start)!;
    const stack = [start];
    while (stack.length > 0) {
      for (const id of next.get(stack.pop()!) ?? []) {
        if (marks[id]! & bit) continue;
        marks[id]! |= bit;
        stack.push(id);
      }
    }
  }
  return marks;
}

/** Without the modules around it, which its name tells instead. */
function flat(node: GraphNode): GraphNode {
  const name = node.path && node.op >= 0 ? `${opName(node.name)} · ${node.path}` : node.name;
  return { ...node, name, call: -1 };
}

function standInOf(id: number, group: number[], whole: CaptureGraph): GraphNode {
  const nodes = group.map((member) => whole.nodes[member]!);
  return {
    ...nodes[0]!,
    id,
    kind: "op",
    name: `… ${counted(group.length, "op")} …`,
    call: -1,
    path: "",
    gradFns: [],
    modified: [],
    hooks: nodes.reduce((sum, node) => sum + node.hooks, 0),
    tracked: nodes.some((node) => node.tracked),
    root: false,
    failed: false,
    recomputed: false,
    error: "",
    shape: "",
    findings: [],
    region: "",
  };
}

/** Edges between what is left, each pair and cause once; gradient outdoes data. */
function joined(edges: readonly GraphEdge[], standIn: Map<number, number>): GraphEdge[] {
  const left = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const source = standIn.get(edge.source);
    const target = standIn.get(edge.target);
    if (source === undefined || target === undefined || source === target) continue;
    const labelled = edge.kind === "severed" || edge.kind === "modified";
    const key = `${source} ${target} ${labelled ? `${edge.kind} ${edge.cause}` : ""}`;
    const there = left.get(key);
    if (!there || (there.kind === "data" && edge.kind === "gradient"))
      left.set(key, { ...edge, source, target });
  }
  return [...left.values()];
}

/** Capture -> the graph in the form that the picture draws. */

import { NODE_FLAGS } from "../wire";
import type { Capture } from "./capture";
import type { CaptureGraph, EdgeKind, GraphEdge, GraphNode, Modified, NodeKind } from "./graph";
import { severityOf } from "./severity";

/** Shared by all nodes that have none: in a large graph nearly all. */
const NONE: never[] = [];
const GRADIENT = ["", "present", "none"] as const;

const graphs = new WeakMap<Capture, CaptureGraph>();

/** Made once a capture. */
export function graphOf(capture: Capture): CaptureGraph {
  let graph = graphs.get(capture);
  if (!graph) {
    graph = made(capture);
    graphs.set(capture, graph);
  }
  return graph;
}

function made(capture: Capture): CaptureGraph {
  const { data } = capture;
  const findings = new Map<number, number[]>();
  data.findings.forEach((finding, index) => {
    for (const node of finding.nodes ?? []) {
      findings.set(node, [...(findings.get(node) ?? []), index]);
    }
  });
  const { calls } = data;
  const paths = Array.from(calls.parent, (_, call) => capture.path(call));
  const gradFns = namesOf(capture);
  const nodes: GraphNode[] = [];
  for (let id = 0; id < capture.size; id++) {
    const path = paths[data.nodes.call[id]!] ?? "";
    nodes.push(node(capture, id, path, gradFns(id), findings.get(id) ?? NONE));
  }
  return {
    nodes,
    edges: edgesOf(capture),
    calls: Array.from(calls.parent, (parent, id) => ({
      id,
      parent,
      path: capture.text(calls.path[id]),
      type: capture.text(calls.type[id]),
      nth: calls.nth[id]!,
      root: calls.root[id]!,
    })),
    findings: data.findings.map(({ rule, name, severity }) => ({
      rule,
      name,
      severity: severityOf(severity),
    })),
    models: [...data.head.models],
  };
}

function edgesOf(capture: Capture): GraphEdge[] {
  const { source, target, kind, cause, site, live, tensor } = capture.data.edges;
  const { shape } = capture.data.tensors;
  const edges: GraphEdge[] = [];
  for (let n = 0; n < source.length; n++) {
    edges.push({
      source: source[n]!,
      target: target[n]!,
      kind: capture.text(kind[n]) as EdgeKind,
      cause: capture.text(cause[n]),
      site: site[n]!,
      live: live[n] === 1,
      shape: capture.text(shape[tensor[n]!]),
    });
  }
  return edges;
}

/** The autograd nodes of a node; most are of one, and then share the list of its name. */
function namesOf(capture: Capture): (id: number) => string[] {
  const { grad_fns: counts } = capture.data.nodes;
  const { name } = capture.data.grad_fns;
  const alone: string[][] = [];
  let row = 0;
  return (id) => {
    const from = row;
    row += counts[id]!;
    if (row === from) return NONE;
    const first = name[from]!;
    if (row > from + 1 || first < 0) return capture.gradFns(id);
    const shared = alone[first] ?? [capture.text(first)];
    alone[first] = shared;
    return shared;
  };
}

function node(
  capture: Capture,
  id: number,
  path: string,
  gradFns: string[],
  findings: number[],
): GraphNode {
  const { nodes: n, ops, regions, tensors } = capture.data;
  const flags = n.flags[id]!;
  const op = n.op[id]!;
  const tensor = n.tensor[id]!;
  const region = op >= 0 ? capture.text(regions.kind[ops.region[op]!]) : "";
  return {
    id,
    kind: capture.text(n.kind[id]) as NodeKind,
    name: capture.text(n.name[id]),
    path,
    call: n.call[id]!,
    op,
    tensor,
    site: n.site[id]!,
    gradFns,
    modified: capture.spoiled(id) ? modified(capture, id) : NONE,
    hooks: n.hooks[id]!,
    tracked: (flags & NODE_FLAGS.tracked) > 0,
    root: (flags & NODE_FLAGS.root) > 0,
    failed: (flags & NODE_FLAGS.failed) > 0,
    recomputed: (flags & NODE_FLAGS.recomputed) > 0,
    error: capture.text(n.error[id]),
    shape: capture.text(tensors.shape[tensor]),
    dtype: capture.text(tensors.dtype[tensor]),
    device: capture.text(tensors.device[tensor]),
    findings,
    region: region === "enabled" ? "" : region,
    gradient: GRADIENT[n.gradient[id]!] ?? "",
  };
}

function modified(capture: Capture, id: number): Modified[] {
  return capture
    .saved(id)
    .filter((s) => s.status === "modified")
    .map((s) => ({ name: s.name, saved: s.saved, now: s.now }));
}

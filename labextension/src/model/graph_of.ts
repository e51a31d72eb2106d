/** Capture -> the graph in the form that the picture draws. */

import { NODE_FLAGS } from "../wire";
import type { Capture } from "./capture";
import type { CaptureGraph, EdgeKind, GraphNode, NodeKind } from "./graph";

const GRADIENT = ["", "present", "none"] as const;

export function graphOf(capture: Capture): CaptureGraph {
  const { data } = capture;
  const findings = new Map<number, number[]>();
  data.findings.forEach((finding, index) => {
    for (const node of finding.nodes ?? []) {
      findings.set(node, [...(findings.get(node) ?? []), index]);
    }
  });
  const nodes: GraphNode[] = [];
  for (let id = 0; id < capture.size; id++) nodes.push(node(capture, id, findings.get(id) ?? []));
  const { edges, calls } = data;
  return {
    nodes,
    edges: Array.from(edges.source, (source, n) => ({
      source,
      target: edges.target[n]!,
      kind: capture.text(edges.kind[n]) as EdgeKind,
      cause: capture.text(edges.cause[n]),
      site: edges.site[n]!,
      live: edges.live[n] === 1,
    })),
    calls: Array.from(calls.parent, (parent, id) => ({
      id,
      parent,
      path: capture.text(calls.path[id]),
      type: capture.text(calls.type[id]),
      nth: calls.nth[id]!,
      root: calls.root[id]!,
    })),
    models: [...data.head.models],
  };
}

function node(capture: Capture, id: number, findings: number[]): GraphNode {
  const { nodes: n, ops, regions } = capture.data;
  const flags = n.flags[id]!;
  const op = n.op[id]!;
  const tensor = n.tensor[id]!;
  const facts = tensor >= 0 ? capture.tensor(tensor) : undefined;
  const saved = capture.saved(id);
  const region = op >= 0 ? capture.text(regions.kind[ops.region[op]!]) : "";
  return {
    id,
    kind: capture.text(n.kind[id]) as NodeKind,
    name: capture.text(n.name[id]),
    path: capture.path(n.call[id]!),
    call: n.call[id]!,
    op,
    tensor,
    site: n.site[id]!,
    gradFns: capture.gradFns(id),
    savedBytes: saved.reduce((sum, s) => sum + s.nbytes, 0),
    modified: saved
      .filter((s) => s.status === "modified")
      .map((s) => ({ name: s.name, saved: s.saved, now: s.now })),
    hooks: n.hooks[id]!,
    tracked: (flags & NODE_FLAGS.tracked) > 0,
    root: (flags & NODE_FLAGS.root) > 0,
    failed: (flags & NODE_FLAGS.failed) > 0,
    recomputed: (flags & NODE_FLAGS.recomputed) > 0,
    error: capture.text(n.error[id]),
    shape: facts?.shape ?? "",
    dtype: facts?.dtype ?? "",
    device: facts?.device ?? "",
    findings,
    region: region === "enabled" ? "" : region,
    gradient: GRADIENT[n.gradient[id]!] ?? "",
  };
}

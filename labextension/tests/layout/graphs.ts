/** Graphs for the tests: real ones (captured/, see scripts/layout_fixtures.py), and made ones of any size. */

import type { Call, CaptureGraph, EdgeKind, GraphEdge, GraphNode } from "../../src/model/graph";
import chain from "./captured/chain.json";
import checkpointed from "./captured/checkpointed.json";
import gpt2 from "./captured/gpt2.json";
import lstm from "./captured/lstm.json";
import reentrant from "./captured/reentrant.json";
import resnet from "./captured/resnet.json";
import severed from "./captured/severed.json";
import t5 from "./captured/t5.json";
import version from "./captured/version.json";

const STORED: Record<string, unknown> = {
  gpt2,
  t5,
  resnet,
  lstm,
  chain,
  severed,
  version,
  checkpointed,
  reentrant,
};
export const REAL = Object.keys(STORED);

const KINDS: Record<string, EdgeKind> = { g: "gradient", d: "data", s: "severed" };

interface Stored {
  nodes: (Partial<GraphNode> & { id: number; kind: GraphNode["kind"] })[];
  edges: [number, number, string, string, number][];
  calls: [number, number, string, string, number, number][];
  findings: CaptureGraph["findings"];
  models: string[];
}

export function node(id: number, fields: Partial<GraphNode> = {}): GraphNode {
  const plain: GraphNode = {
    id,
    kind: "op",
    name: "",
    path: "",
    call: -1,
    op: -1,
    tensor: -1,
    site: -1,
    gradFns: [],
    modified: [],
    hooks: 0,
    tracked: false,
    root: false,
    failed: false,
    recomputed: false,
    error: "",
    shape: "",
    dtype: "",
    device: "",
    findings: [],
    region: "",
    gradient: "",
  };
  return Object.assign(plain, fields);
}

export function edge(source: number, target: number, fields: Partial<GraphEdge> = {}): GraphEdge {
  return {
    source,
    target,
    kind: "gradient",
    cause: "",
    site: -1,
    live: false,
    shape: "",
    ...fields,
  };
}

export function call(id: number, parent: number, path: string, type: string, nth = 1): Call {
  return { id, parent, path, type, nth, root: 0 };
}

export function unpacked(stored: Stored): CaptureGraph {
  return {
    nodes: stored.nodes.map((fields) => node(fields.id, fields)),
    edges: stored.edges.map(([source, target, kind, cause, live]) =>
      edge(source, target, { kind: KINDS[kind]!, cause, live: live === 1 }),
    ),
    calls: stored.calls.map(([id, parent, path, type, nth, root]) => ({
      id,
      parent,
      path,
      type,
      nth,
      root,
    })),
    findings: stored.findings,
    models: stored.models,
  };
}

export function real(name: string): CaptureGraph {
  return unpacked(STORED[name] as Stored);
}

/** A transformer of `blocks` blocks, about `size` ops each, as nested calls. */
export function generated(blocks: number, size = 50): CaptureGraph {
  const graph: CaptureGraph = {
    nodes: [],
    edges: [],
    calls: [call(0, -1, "", "Model")],
    findings: [],
    models: ["model"],
  };
  const add = (fields: Partial<GraphNode>, ...sources: number[]): number => {
    const id = graph.nodes.length;
    graph.nodes.push(node(id, { tracked: true, shape: "2×16×64", ...fields }));
    for (const source of sources) graph.edges.push(edge(source, id));
    return id;
  };
  let x = add({ kind: "input", name: "ids", tracked: false });
  for (let block = 0; block < blocks; block++) {
    const outer = graph.calls.push(call(graph.calls.length, 0, `h.${block}`, "Block")) - 1;
    const skip = x;
    for (let part = 0; part < Math.max(1, Math.round(size / 10)); part++) {
      const name = `h.${block}.layer${part}`;
      const inner = graph.calls.push(call(graph.calls.length, outer, name, `Layer${part % 4}`)) - 1;
      const at = { call: inner, path: name, op: graph.nodes.length };
      const weight = add({ kind: "parameter", name: `${name}.weight` });
      const bias = add({ kind: "parameter", name: `${name}.bias` });
      const a = add({ ...at, name: "linear" }, x, weight, bias);
      const b = add({ ...at, name: "gelu" }, a);
      const c = add({ ...at, name: "view" }, b);
      const d = add({ ...at, name: "transpose" }, b);
      const e = add({ ...at, name: "matmul" }, c, d);
      const f = add({ ...at, name: "softmax" }, e);
      const g = add({ ...at, name: "dropout" }, f);
      x = add({ ...at, name: "add" }, g, x);
    }
    x = add({ call: outer, path: `h.${block}`, name: "add", op: graph.nodes.length }, x, skip);
  }
  add({ name: "cross_entropy", op: graph.nodes.length, root: true }, x);
  return graph;
}

/** What changed from one capture to another: nodes are the same when they are the same call of the same place. */

import { trans } from "../words";
import type { CaptureGraph, GraphNode } from "./graph";
import { opName } from "./shown";

export interface Change {
  /** A few words. */
  text: string;
  said: string;
  /** In the newer graph; -1 where it is gone. */
  node: number;
  /** In the older one; -1 where it was not there. */
  was: number;
}

export interface Diff {
  added: Change[];
  gone: Change[];
  cut: Change[];
  mended: Change[];
  reached: Change[];
  lost: Change[];
  moved: Change[];
  /** Node of the newer graph -> the same of the older one. */
  pairs: Map<number, number>;
}

export function diff(before: CaptureGraph, after: CaptureGraph): Diff {
  const old = keyed(before);
  const changes: Diff = {
    added: [],
    gone: [],
    cut: [],
    mended: [],
    reached: [],
    lost: [],
    moved: [],
    pairs: new Map(),
  };
  const [cutsBefore, cutsAfter] = [cuts(before), cuts(after)];
  for (const [key, node] of keyed(after)) {
    const was = old.get(key);
    old.delete(key);
    const cut = cutsAfter.get(node.id);
    if (!was) {
      changes.added.push(change(node, -1, cut ? `✂ ${cut}` : ""));
      if (cut) changes.cut.push(change(node, -1, cut));
      continue;
    }
    changes.pairs.set(node.id, was.id);
    const said = (text: string): Change => change(node, was.id, text);
    const cutBefore = cutsBefore.get(was.id);
    if (cut && !cutBefore) changes.cut.push(said(cut));
    if (!cut && cutBefore) changes.mended.push(said(trans.__("was %1", cutBefore)));
    if (was.gradient === "none" && node.gradient === "present") changes.reached.push(said(""));
    if (was.gradient === "present" && node.gradient === "none") changes.lost.push(said(""));
    if (was.device !== node.device && was.device && node.device) {
      changes.moved.push(said(`${was.device} → ${node.device}`));
    } else if (was.dtype !== node.dtype && was.dtype && node.dtype) {
      changes.moved.push(said(`${was.dtype} → ${node.dtype}`));
    }
  }
  for (const node of old.values()) {
    const cut = cutsBefore.get(node.id);
    changes.gone.push({ ...change(node, node.id, cut ? `✂ ${cut}` : ""), node: -1 });
    if (cut) changes.mended.push({ ...change(node, node.id, trans.__("was %1", cut)), node: -1 });
  }
  return changes;
}

/** Node -> why gradient stops there. */
function cuts(graph: CaptureGraph): Map<number, string> {
  const causeOf = new Map<number, string>();
  for (const edge of graph.edges) {
    if (edge.kind === "severed" && edge.live) causeOf.set(edge.target, edge.cause);
  }
  return causeOf;
}

/** The n-th node of its kind and name in its module. */
function keyed(graph: CaptureGraph): Map<string, GraphNode> {
  const counts = new Map<string, number>();
  const nodeOf = new Map<string, GraphNode>();
  for (const node of graph.nodes) {
    const call = graph.calls[node.call];
    const name = [node.path, call?.nth ?? 0, node.kind, opName(node.name)].join("\u0000");
    const nth = counts.get(name) ?? 0;
    counts.set(name, nth + 1);
    nodeOf.set(`${name}\u0000${nth}`, node);
  }
  return nodeOf;
}

function change(node: GraphNode, was: number, said: string): Change {
  const name = opName(node.name);
  return { text: node.path ? `${node.path} · ${name}` : name, said, node: node.id, was };
}

/** What changed from one capture to another: nodes are the same when they are the same call of the same place. */

import type { CaptureGraph, GraphNode } from "./graph";
import { opName } from "./shown";

export interface Change {
  /** A few words. */
  text: string;
  said: string;
  /** In the newer graph; -1 where it is gone. */
  node: number;
}

export interface Diff {
  added: Change[];
  gone: Change[];
  cut: Change[];
  mended: Change[];
  reached: Change[];
  lost: Change[];
  moved: Change[];
  same: number;
}

export function diff(before: CaptureGraph, after: CaptureGraph): Diff {
  const old = keyed(before);
  const found: Diff = {
    added: [],
    gone: [],
    cut: [],
    mended: [],
    reached: [],
    lost: [],
    moved: [],
    same: 0,
  };
  const [cutsBefore, cutsAfter] = [cuts(before), cuts(after)];
  for (const [key, node] of keyed(after)) {
    const was = old.get(key);
    old.delete(key);
    const cut = cutsAfter.get(node.id);
    if (!was) {
      found.added.push(change(node, cut ? `✂ ${cut}` : ""));
      if (cut) found.cut.push(change(node, cut));
      continue;
    }
    found.same += 1;
    const cutBefore = cutsBefore.get(was.id);
    if (cut && !cutBefore) found.cut.push(change(node, cut));
    if (!cut && cutBefore) found.mended.push(change(node, `was ${cutBefore}`));
    if (was.gradient === "none" && node.gradient === "present")
      found.reached.push(change(node, ""));
    if (was.gradient === "present" && node.gradient === "none") found.lost.push(change(node, ""));
    if (was.device !== node.device && was.device && node.device) {
      found.moved.push(change(node, `${was.device} → ${node.device}`));
    } else if (was.dtype !== node.dtype && was.dtype && node.dtype) {
      found.moved.push(change(node, `${was.dtype} → ${node.dtype}`));
    }
  }
  for (const node of old.values()) {
    const cut = cutsBefore.get(node.id);
    found.gone.push({ ...change(node, cut ? `✂ ${cut}` : ""), node: -1 });
    if (cut) found.mended.push({ ...change(node, `was ${cut}`), node: -1 });
  }
  return found;
}

/** Node -> why gradient stops there. */
function cuts(graph: CaptureGraph): Map<number, string> {
  const found = new Map<number, string>();
  for (const edge of graph.edges) {
    if (edge.kind === "severed" && edge.live) found.set(edge.target, edge.cause);
  }
  return found;
}

/** The n-th node of its kind and name in its module. */
function keyed(graph: CaptureGraph): Map<string, GraphNode> {
  const counts = new Map<string, number>();
  const found = new Map<string, GraphNode>();
  for (const node of graph.nodes) {
    const call = graph.calls[node.call];
    const own = [node.path, call?.nth ?? 0, node.kind, opName(node.name)].join("\u0000");
    const nth = counts.get(own) ?? 0;
    counts.set(own, nth + 1);
    found.set(`${own}\u0000${nth}`, node);
  }
  return found;
}

function change(node: GraphNode, said: string): Change {
  const name = opName(node.name);
  return { text: node.path ? `${node.path} · ${name}` : name, said, node: node.id };
}

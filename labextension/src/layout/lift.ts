/** Edges of the graph -> wires inside each open box: every edge is drawn where its two ends first part. */

import type { EdgeKind, Severity } from "../model/graph";
import { worse } from "../model/severity";
import { type Box, childToward, commonBox, type Tree } from "./box";
import { type Open, standIns } from "./visible";
import type { Work } from "./work";

/** Edges between two places where the work may be interrupted. */
const STEP = 2_000;

/** A cut, or a modification: its label stands on the way of the wire, so that it has room by construction. */
export interface Cut {
  kind: "severed" | "modified";
  id: number;
  scope: Box;
  target: Box;
  cause: string;
  times: number;
  /** "" where no backward felt it. */
  severity: Severity | "";
  hot: boolean;
}

/** What a wire can end at in its box: a child, a cut, or a gate through which it enters or leaves. */
export type End = { box: Box } | { cut: Cut } | { gate: number };

export interface Branch {
  end: End;
  kind: EdgeKind;
  /** On the highlighted path. */
  hot: boolean;
}

/** All that goes on from one visible thing (`origin`: a box's id, or a cut's) inside one box. */
export interface Net {
  origin: number;
  /** Of what goes on; "" where it is unknown, or of several. */
  shape: string;
  from: End;
  branches: Map<string, Branch>;
}

/** One open box: what it shows, in order. */
export interface Scope {
  box: Box;
  cuts: Cut[];
  /** Origins whose wires enter from above, and leave below. */
  ins: number[];
  outs: number[];
  nets: Map<number, Net>;
}

interface Pair {
  shape: string;
  from: Box;
  to: Box;
  kind: EdgeKind;
  cause: string;
  times: number;
  severity: Severity | "";
  hot: boolean;
}

export function* lift(
  tree: Tree,
  open: Open,
  hot?: (edge: number) => boolean,
): Work<Map<Box, Scope>> {
  const scopes = new Map<Box, Scope>();
  const scopeOf = (box: Box): Scope => {
    let scope = scopes.get(box);
    if (!scope) {
      scope = { box, cuts: [], ins: [], outs: [], nets: new Map() };
      scopes.set(box, scope);
    }
    return scope;
  };
  const cuts = new Map<string, Cut>();
  let done = 0;
  for (const pair of yield* pairs(tree, open, hot)) {
    if (++done % STEP === 0) yield;
    const common = commonBox(pair.from, pair.to);
    const { kind } = pair;
    if (!isLabelled(kind)) {
      join(scopeOf, common, pair.from.id, pair.from, pair.to, null, pair);
      continue;
    }
    const key = `${kind} ${common.id} ${pair.to.id} ${pair.cause}`;
    let cut = cuts.get(key);
    if (!cut) {
      const id = tree.boxes.length + cuts.size;
      cut = {
        kind,
        id,
        scope: common,
        target: pair.to,
        cause: pair.cause,
        times: 0,
        severity: "",
        hot: false,
      };
      cuts.set(key, cut);
      scopeOf(common).cuts.push(cut);
    }
    cut.times += pair.times;
    cut.severity = worse(cut.severity, pair.severity);
    cut.hot ||= pair.hot;
    const before = kind === "severed" ? "gradient" : kind;
    join(scopeOf, common, pair.from.id, pair.from, null, cut, { ...pair, kind: before });
  }
  for (const cut of cuts.values()) {
    join(scopeOf, cut.scope, cut.id, null, cut.target, cut, { ...cut, shape: "" });
  }
  return scopes;
}

/** Edges between the boxes that stand for their ends, each pair once; gradient outdoes data. */
function* pairs(tree: Tree, open: Open, hot?: (edge: number) => boolean): Work<Iterable<Pair>> {
  const standIn = standIns(tree, open);
  const pairOf = new Map<number | string, Pair>();
  const { edges } = tree.graph;
  for (let number = 0; number < edges.length; number++) {
    if (number % STEP === 0) yield;
    const ends = tree.ends[number];
    if (!ends) continue;
    const [from, to] = [standIn[ends[0].id]!, standIn[ends[1].id]!];
    if (from === to) continue;
    const { kind, cause, shape } = edges[number]!;
    const severity = tree.cuts.get(number) ?? "";
    const key = isLabelled(kind)
      ? `${kind} ${from.id} ${to.id} ${cause}`
      : from.id * 2 ** 24 + to.id;
    const pair = pairOf.get(key);
    const burning = hot?.(number) ?? false;
    if (!pair) pairOf.set(key, { from, to, kind, cause, times: 1, severity, hot: burning, shape });
    else {
      if (pair.shape !== shape) pair.shape = "";
      pair.times++;
      pair.severity = worse(pair.severity, severity);
      pair.hot ||= burning;
      if (kind === "gradient") pair.kind = kind;
    }
  }
  return pairOf.values();
}

function isLabelled(kind: EdgeKind): kind is Cut["kind"] {
  return kind === "severed" || kind === "modified";
}

type How = Pick<Pair, "kind" | "hot" | "shape">;

/** From a box up to `common`, across, and down to the other; `from` or `to` null where the cut stands. */
function join(
  scopeOf: (box: Box) => Scope,
  common: Box,
  origin: number,
  from: Box | null,
  to: Box | null,
  cut: Cut | null,
  how: How,
): void {
  let start: End = from ? { box: childToward(common, from) } : { cut: cut! };
  for (let at = from; at && at.parent !== common; at = at.parent) {
    const scope = scopeOf(at.parent!);
    if (!scope.nets.get(origin)?.branches.has("out")) scope.outs.push(origin);
    connect(scope, origin, { box: at }, { gate: origin }, how);
  }
  const goal: End = to ? { box: childToward(common, to) } : { cut: cut! };
  connect(scopeOf(common), origin, start, goal, how);
  for (let at = to; at && at.parent !== common; at = at.parent) {
    const scope = scopeOf(at.parent!);
    if (!scope.nets.has(origin)) scope.ins.push(origin);
    start = { gate: origin };
    connect(scope, origin, start, { box: at }, how);
  }
}

function connect(scope: Scope, origin: number, from: End, to: End, how: How): void {
  let net = scope.nets.get(origin);
  if (!net) {
    net = { origin, from, branches: new Map(), shape: how.shape };
    scope.nets.set(origin, net);
  } else if (net.shape !== how.shape) net.shape = "";
  const key = "box" in to ? `b${to.box.id}` : "cut" in to ? `c${to.cut.id}` : "out";
  const branch = net.branches.get(key);
  if (!branch) net.branches.set(key, { end: to, kind: how.kind, hot: how.hot });
  else {
    if (how.kind === "gradient") branch.kind = "gradient";
    branch.hot ||= how.hot;
  }
}

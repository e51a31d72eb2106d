/** What a picture is made of: boxes in boxes, from the whole capture down to single nodes. */

import type { CaptureGraph, GraphNode, Severity } from "../model/graph";

/**
 * `module`: one call of one module. `repeat`: calls or ops of the same structure, one after the other; where the
 * unit that repeats is several items, each is a `unit`. `run`: ops in a row. `crowd`: leaves that the same boxes
 * read. `setup`: what ran before all that matters, how the model was built. `apart`: what led to nothing. `node`: one node of the graph.
 */
export type BoxKind =
  | "root"
  | "module"
  | "repeat"
  | "unit"
  | "run"
  | "crowd"
  | "apart"
  | "setup"
  | "node";

export interface Box {
  /** Its place in `Tree.boxes`: boxes come before what they contain. */
  id: number;
  kind: BoxKind;
  parent: Box | null;
  children: Box[];
  /** For kind "node"; else null. */
  node: GraphNode | null;
  /** Nodes that computed the same again during backward. */
  again: readonly GraphNode[];
  /** All in it was computed again; see again.ts. */
  computedAgain: boolean;
  /** Something in it was. */
  holdsAgain: boolean;
  /** Index of the module call that it is, or sits in; -1 outside any module. */
  call: number;
  /** Smallest id of a node inside: its place in program order. */
  first: number;
  /** How many nodes are inside. */
  size: number;
  /** Boxes around it. */
  depth: number;
  /** Module calls around it, itself included. */
  modules: number;
  /** Equal for boxes of equal structure, -1 while nobody has asked; see signature.ts. */
  signature: number;
  /** Gradient flows through it, or inside. */
  flows: boolean;
  /** What happened inside; see problems.ts. */
  troubles: Troubles;
}

export interface Troubles {
  failed: number;
  modified: number;
  /** Live cuts inside, by cause. */
  cuts: Map<string, number>;
  findings: Set<number>;
  /** How grave the worst of it is, "" where nothing happened. */
  worst: Severity | "";
}

export interface Tree {
  graph: CaptureGraph;
  boxes: Box[];
  root: Box;
  /** Boxes of each node, by node id: a leaf that several calls read is drawn in each. */
  boxesOf: Places;
  /** For each edge of the graph the boxes that it joins, null where an end is not drawn. */
  ends: ([Box, Box] | null)[];
  /** How grave each cut is that a backward felt, by the number of its edge. */
  cuts: Map<number, Severity>;
}

/** Boxes by node: nearly all nodes have one, and a list of one a node would be 50,000 lists. */
export class Places {
  readonly #only: (Box | undefined)[] = [];
  readonly #several = new Map<number, Box[]>();

  add(node: number, box: Box): void {
    const first = this.#only[node];
    const list = this.#several.get(node);
    if (!first) this.#only[node] = box;
    else if (list) list.push(box);
    else this.#several.set(node, [first, box]);
  }

  get(node: number): readonly Box[] {
    const only = this.#only[node];
    return this.#several.get(node) ?? (only ? [only] : []);
  }
}

/** Of every box that is a node. */
const NO_CHILDREN: Box[] = [];
const NEVER: GraphNode[] = [];

/** Shared by all boxes in which nothing went wrong. */
export const NONE: Troubles = {
  failed: 0,
  modified: 0,
  cuts: new Map(),
  findings: new Set(),
  worst: "",
};

export function newBox(kind: BoxKind, call: number, node: GraphNode | null = null): Box {
  return {
    id: -1,
    kind,
    parent: null,
    children: node ? NO_CHILDREN : [],
    node,
    again: NEVER,
    computedAgain: false,
    holdsAgain: false,
    call,
    first: node ? node.id : Number.MAX_SAFE_INTEGER,
    size: node ? 1 : 0,
    depth: 0,
    modules: 0,
    signature: -1,
    flows: false,
    troubles: NONE,
  };
}

/** The nodes that a box of one node stands for. */
export function nodesOf({ node, again }: Box): readonly GraphNode[] {
  if (!node) return NEVER;
  return again.length > 0 ? [node, ...again] : [node];
}

/** A box around others. */
export function boxAround(kind: BoxKind, call: number, children: Box[]): Box {
  const box = newBox(kind, call);
  for (const child of children) adopt(box, child);
  return box;
}

export function adopt(parent: Box, child: Box): void {
  child.parent = parent;
  parent.children.push(child);
  parent.first = Math.min(parent.first, child.first);
}

/** The deepest box that both are in; a box is in itself. */
export function commonBox(a: Box, b: Box): Box {
  let [x, y] = [a, b];
  while (x.depth > y.depth) x = x.parent!;
  while (y.depth > x.depth) y = y.parent!;
  while (x !== y) {
    x = x.parent!;
    y = y.parent!;
  }
  return x;
}

/** The child of `outer` that holds `inner`. */
export function childToward(outer: Box, inner: Box): Box {
  let box = inner;
  while (box.parent !== outer) box = box.parent!;
  return box;
}

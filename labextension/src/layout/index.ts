/** Pure layout of a capture's graph: no DOM. tree -> open boxes -> lifted wires -> composed layers -> scene. */

import type { CaptureGraph } from "../model/graph";
import type { Tree } from "./box";
import { compose, type Memo } from "./compose";
import { Labels } from "./labels";
import { lift } from "./lift";
import { makeScene, type Scene } from "./scene";
import { type Measure, roughly } from "./text";
import { buildTree } from "./tree";
import type { Open } from "./visible";
import { atOnce, type Work } from "./work";

const trees = new WeakMap<CaptureGraph, Tree>();

/** Made once a graph: several views may show it. */
export function treeOf(graph: CaptureGraph): Tree {
  let tree = trees.get(graph);
  if (!tree) {
    tree = buildTree(graph);
    trees.set(graph, tree);
  }
  return tree;
}

export class Layout {
  readonly tree: Tree;
  readonly labels: Labels;
  /** Distinct layouts of one box that were computed so far. */
  readonly memo: Memo = new Map();

  constructor(graph: CaptureGraph, measure: Measure = roughly) {
    this.tree = treeOf(graph);
    this.labels = new Labels(this.tree, measure);
  }

  /** `hot`: which edges are on the highlighted path. */
  scene(open: Open, hot?: (edge: number) => boolean): Scene {
    return atOnce(this.making(open, hot));
  }

  /** The same, in steps of at most some ten milliseconds. */
  *making(open: Open, hot?: (edge: number) => boolean): Work<Scene> {
    const scopes = yield* lift(this.tree, open, hot);
    const placed = yield* compose(this.tree.root, open, scopes, this.labels, this.memo);
    return yield* makeScene(placed);
  }
}

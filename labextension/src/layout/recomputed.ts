/** What checkpointing computed again during backward: which node of forward each of its nodes is, and whose module. */

import type { Call, CaptureGraph, GraphNode } from "../model/graph";

export interface Recomputed {
  /** Node -> the node of forward that it computes again. */
  twins: Map<number, number>;
  /** Call of a module during backward -> its call in forward. */
  calls: Map<number, number>;
  /** Node -> the call in which it is drawn, though it ran in another, or in none. */
  homes: Map<number, number>;
}

export function recomputedIn(graph: CaptureGraph): Recomputed {
  const again = graph.nodes.filter((node) => node.recomputed);
  if (again.length === 0) return { twins: new Map(), calls: new Map(), homes: new Map() };
  return new Pairing(graph, again).found;
}

class Pairing {
  readonly found: Recomputed = { twins: new Map(), calls: new Map(), homes: new Map() };
  readonly #calls: Map<number, Call>;
  readonly #sources = new Map<number, number[]>();
  readonly #targets = new Map<number, number[]>();
  readonly #nodes: Map<number, GraphNode>;
  readonly #inside = new Map<number, number[]>();
  /** Calls in which something ran for the first time. */
  readonly #filled = new Set<number>();

  constructor(
    private readonly graph: CaptureGraph,
    again: GraphNode[],
  ) {
    this.#nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    this.#calls = new Map(graph.calls.map((call) => [call.id, call]));
    for (const { id, parent } of graph.calls) push(this.#inside, parent, id);
    for (const { source, target, kind } of graph.edges) {
      if (kind === "modified") continue;
      push(this.#sources, target, source);
      push(this.#targets, source, target);
    }
    for (const { call, recomputed } of graph.nodes) if (!recomputed) this.#filled.add(call);
    const regions = this.#regions(again);
    // What a custom Function computes in its backward repeats nothing.
    const repeats = regions.filter((region) => this.#pair(region) || region.some(isInCall));
    for (const region of this.#inOrder(repeats)) this.#place(region);
  }

  /** Each checkpoint computes again what hangs together, and nothing else. */
  #regions(again: GraphNode[]): GraphNode[][] {
    const regions: GraphNode[][] = [];
    const seen = new Set<number>();
    for (const { id } of again) {
      if (seen.has(id)) continue;
      seen.add(id);
      const ids = [id];
      for (const at of ids) {
        for (const next of [...(this.#sources.get(at) ?? []), ...(this.#targets.get(at) ?? [])]) {
          if (!this.#nodes.get(next)!.recomputed || seen.has(next)) continue;
          seen.add(next);
          ids.push(next);
        }
      }
      regions.push(ids.sort((a, b) => a - b).map((one) => this.#nodes.get(one)!));
    }
    return regions;
  }

  /** The same op, in the same module, of the same values; false where most are none. */
  #pair(region: GraphNode[]): boolean {
    const { twins, calls } = this.found;
    const taken = new Set<number>();
    for (const node of region) {
      const read = (this.#sources.get(node.id) ?? [])
        .map((source) => twins.get(source) ?? source)
        .filter((source) => !this.#nodes.get(source)!.recomputed);
      const twin = (this.#targets.get(read[0] ?? -1) ?? []).find(
        (id) =>
          !taken.has(id) &&
          this.#isSame(this.#nodes.get(id)!, node) &&
          read.every((source) => this.#sources.get(id)!.includes(source)),
      );
      if (twin === undefined) continue;
      taken.add(twin);
      twins.set(node.id, twin);
      if (node.call >= 0) calls.set(node.call, this.#nodes.get(twin)!.call);
    }
    const most = 2 * taken.size > region.length;
    if (!most && !region.some(isInCall)) for (const { id } of region) twins.delete(id);
    return most;
  }

  #isSame(forward: GraphNode, node: GraphNode): boolean {
    if (forward.recomputed || forward.name !== node.name) return false;
    // The last of a region has no result: the checkpoint stops there.
    if (node.shape !== "" && forward.shape !== node.shape) return false;
    return node.call < 0 || this.#isSameModule(forward.call, node.call);
  }

  #isSameModule(a: number, b: number): boolean {
    const [one, other] = [this.#calls.get(a), this.#calls.get(b)];
    return !!one && !!other && one.root === other.root && one.path === other.path;
  }

  /** As forward went: the k-th checkpoint of a module is its k-th call. */
  #inOrder(regions: GraphNode[][]): GraphNode[][] {
    return [...regions].sort((a, b) => this.#begin(a) - this.#begin(b));
  }

  #begin(region: GraphNode[]): number {
    return this.#checkpointOf(region)?.id ?? region[0]!.id;
  }

  /** What has no twin goes where its module was called: with reentrant checkpoints nothing in there was seen. */
  #place(region: GraphNode[]): void {
    const { twins, calls, homes } = this.found;
    const left = region.filter(({ id }) => !twins.has(id));
    if (left.length === 0) return;
    const tops = new Set(left.filter(isInCall).map(({ call }) => this.#top(call)));
    for (const top of tops) if (!calls.has(top)) this.#adopt(top);
    const checkpoint = this.#checkpointOf(region);
    const [only] = tops;
    const inside = tops.size === 1 ? calls.get(only!) : undefined;
    const scope = inside ?? checkpoint?.call ?? this.#scopeOf(region);
    if (scope === undefined) return;
    for (const { id, call } of left) if (call < 0) homes.set(id, scope);
    // The checkpoint itself is all that forward showed of the module.
    if (checkpoint && inside !== undefined) homes.set(checkpoint.id, inside);
  }

  /** The custom Function of a reentrant checkpoint: it read what the region starts from. */
  #checkpointOf(region: GraphNode[]): GraphNode | undefined {
    const outer = region
      .filter(({ call }) => call < 0)
      .flatMap(({ id }) => this.#sources.get(id) ?? [])
      .filter((id) => !this.#nodes.get(id)!.recomputed);
    const readers = this.#targets.get(outer[0] ?? -1) ?? [];
    return readers
      .map((id) => this.#nodes.get(id)!)
      .find(
        ({ id, kind }) =>
          kind === "function" && outer.every((source) => this.#sources.get(id)!.includes(source)),
      );
  }

  #top(call: number): number {
    const parent = this.#calls.get(call)?.parent ?? -1;
    return parent >= 0 ? this.#top(parent) : call;
  }

  /** The first call of the same module in which nothing else is drawn, and all calls in it. */
  #adopt(top: number): void {
    const used = new Set(this.found.calls.values());
    const first = this.graph.calls.find(
      ({ id }) => id < top && !used.has(id) && this.#isSameModule(id, top) && !this.#isFilled(id),
    );
    if (!first) return;
    this.found.calls.set(top, first.id);
    for (const { id, parent } of this.graph.calls) {
      const around = this.found.calls.get(parent);
      if (around === undefined || this.found.calls.has(id)) continue;
      const twin = this.#inside.get(around)?.find((one) => this.#isSameModule(one, id));
      if (twin !== undefined) this.found.calls.set(id, twin);
    }
  }

  #isFilled(call: number): boolean {
    return this.#filled.has(call) || !!this.#inside.get(call)?.some((id) => this.#isFilled(id));
  }

  /** Where the others of the region are. */
  #scopeOf(region: GraphNode[]): number | undefined {
    const twin = region.map(({ id }) => this.found.twins.get(id)).find((id) => id !== undefined);
    return twin === undefined ? undefined : this.#nodes.get(twin)!.call;
  }
}

const isInCall = ({ call }: GraphNode): boolean => call >= 0;

function push(map: Map<number, number[]>, key: number, value: number): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

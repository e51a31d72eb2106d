/** Two captures as two pictures beside each other: what is selected in one is selected in both, what differs stands out. */

import type { Change, Diff } from "../model/diff";
import type { CaptureGraph } from "../model/graph";
import type { CreateGraphView, GraphView } from "../model/graph_view";
import { trans } from "../words";
import type { Context } from "./context";
import { el } from "./dom";

export interface Beside {
  graph: CaptureGraph;
  name: string;
}

export class TwoGraphs {
  readonly #hosts = [
    el("div", { class: "agi-stage", role: "group" }),
    el("div", { class: "agi-stage", role: "group" }),
  ] as const;
  readonly root: HTMLElement;
  #before: GraphView | null = null;
  #after: GraphView | null = null;
  /** The picture in which something is being chosen. */
  #asking: GraphView | null = null;
  /** A node of the newer -> the same of the older, and back. */
  readonly #older: Map<number, number>;
  readonly #newer: Map<number, number>;

  constructor(
    private readonly context: Context,
    private readonly other: Beside,
    private readonly changed: Diff,
  ) {
    this.#older = changed.pairs;
    this.#newer = new Map([...changed.pairs].map(([now, was]) => [was, now]));
    const help = trans.__(
      "Boxes with a dashed outline differ. What is selected in one graph is selected in both.",
    );
    const column = (name: string, host: HTMLElement) => {
      host.setAttribute("aria-label", trans.__("Graph of %1", name));
      return el("div", { class: "agi-beside" }, el("h4", {}, name), host);
    };
    this.root = el(
      "div",
      { class: "agi-two" },
      column(other.name, this.#hosts[0]),
      column(trans.__("this capture"), this.#hosts[1]),
      el("p", { class: "agi-quiet" }, help),
    );
  }

  /** Once it is in the page, where it can be measured. */
  draw(create: CreateGraphView): void {
    const { selection, graph } = this.context;
    this.#before = create(this.#hosts[0], this.other.graph, {
      onSelect: (id) => {
        const now = id === null ? undefined : this.#newer.get(id);
        this.#chose(this.#before, now ?? null);
      },
    });
    this.#after = create(this.#hosts[1], graph, {
      onSelect: (id) => this.#chose(this.#after, id),
    });
    this.#before.match(this.#differing("was"));
    this.#after.match(this.#differing("node"));
    selection.listen((ids) => this.#select(ids));
    this.#select(selection.ids);
  }

  show(changes: Change[]): void {
    const ids = changes.map(({ node }) => node).filter((id) => id >= 0);
    this.context.selection.set(ids, "compare", true);
    const gone = changes.filter(({ node }) => node < 0).map(({ was }) => was);
    if (gone.length > 0) this.#before?.select([...gone, ...this.#olderOf(ids)], { focus: true });
  }

  destroy(): void {
    this.#before?.destroy();
    this.#after?.destroy();
  }

  /** In a picture, which shows that by itself: a box of several nodes, or a node that only it has. */
  #chose(where: GraphView | null, node: number | null): void {
    this.#asking = where;
    this.context.selection.set(node === null ? [] : [node], "compare");
    this.#asking = null;
  }

  #select(ids: readonly number[]): void {
    if (this.#asking !== this.#after) this.#after?.select([...ids], { focus: true });
    if (this.#asking !== this.#before) this.#before?.select(this.#olderOf(ids), { focus: true });
  }

  #olderOf(ids: readonly number[]): number[] {
    return ids.map((id) => this.#older.get(id)).filter((id) => id !== undefined);
  }

  #differing(side: "node" | "was"): number[] {
    const { added, gone, cut, mended, reached, lost, moved } = this.changed;
    const all = [added, gone, cut, mended, reached, lost, moved].flat();
    return all.map((change) => change[side]).filter((id) => id >= 0);
  }
}

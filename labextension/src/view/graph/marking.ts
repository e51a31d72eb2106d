/** Which boxes stand out, and which step back: search, filter, path, timeline, selection. */

import type { Tree } from "../../layout/box";
import type { Item, Wire } from "../../layout/scene";
import type { Marks } from "./canvas_item";
import type { Facts } from "./facts";
import { Heat } from "./heat";
import { holding } from "./marks";

export class Marking {
  selected = new Set<number>();
  #drawn: ReadonlyMap<number, Item> = new Map();
  #warmth: Heat | null = null;
  #kept: Uint8Array | null = null;
  #onPath: Uint8Array | null = null;
  #matches: Uint8Array | null = null;
  #now: number | null = null;

  constructor(
    private readonly tree: Tree,
    private readonly facts: Facts[],
  ) {}

  /** What is drawn, by id. */
  get items(): ReadonlyMap<number, Item> {
    return this.#drawn;
  }

  set items(items: ReadonlyMap<number, Item>) {
    this.#drawn = items;
    this.#warmth?.over(items.values());
  }

  /** Colours boxes by how much of something is in them; returns the most that one has. */
  heat(values: ArrayLike<number> | null): number {
    this.#warmth = values && new Heat(this.tree, values);
    return this.#warmth?.over(this.#drawn.values()) ?? 0;
  }

  keep(nodes: Set<number> | null): void {
    this.#kept = nodes && holding(this.tree, nodes);
  }

  path(nodes: Set<number> | null): void {
    this.#onPath = nodes && holding(this.tree, nodes);
  }

  match(nodes: number[]): void {
    this.#matches = nodes.length > 0 ? holding(this.tree, new Set(nodes)) : null;
  }

  until(op: number | null): void {
    this.#now = op;
  }

  readonly #dim = (item: Item): boolean => {
    const id = item.box?.id ?? item.cut!.target.id;
    if (this.#kept && !this.#kept[id]) return true;
    if (this.#onPath && !this.#onPath[id]) return true;
    return this.#now !== null && this.facts[id]!.op > this.#now;
  };

  dimWire(wire: Wire): boolean {
    if (wire.hot || !(this.#kept || this.#onPath || this.#now !== null)) return false;
    const dim = (id: number): boolean => {
      const item = this.items.get(id);
      return item !== undefined && this.#dim(item);
    };
    return dim(wire.from) || wire.to.some(dim);
  }

  readonly #chosen = (item: Item): boolean => {
    const box = item.box;
    if (!box) return false;
    return this.selected.has(box.id) || this.#holdsSelected(item);
  };

  /** A closed box stands for what is selected inside it. */
  #holdsSelected(item: Item): boolean {
    if (item.open || item.box!.children.length === 0) return false;
    for (const id of this.selected) {
      for (let at = this.tree.boxes[id]!.parent; at; at = at.parent)
        if (at === item.box) return true;
    }
    return false;
  }

  of(item: Item): Marks {
    const found = !item.open && item.box !== null && this.#matches?.[item.box.id] === 1;
    const heat = this.#warmth ? this.#warmth.of(item) : null;
    return { dim: this.#dim(item), chosen: this.#chosen(item), found, heat };
  }

  apply(item: Item, element: SVGGElement): void {
    const { dim, chosen, found, heat } = this.of(item);
    // An open box is never dimmed as a whole: what is in it decides for itself.
    element.classList.toggle("agi-dim", dim);
    element.classList.toggle("agi-found", found);
    element.classList.toggle("agi-heated", heat !== null && !item.cut);
    if (heat !== null) element.style.setProperty("--heat", `${Math.round(heat * 100)}%`);
    if (item.box) element.setAttribute("aria-pressed", String(chosen));
  }
}

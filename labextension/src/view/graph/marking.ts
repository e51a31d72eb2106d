/** Which boxes stand out, and which step back: search, filter, path, timeline, selection. */

import type { Tree } from "../../layout/box";
import type { Item } from "../../layout/scene";
import type { Facts } from "./facts";
import { holding } from "./marks";

export class Marking {
  selected = new Set<number>();
  private kept: Uint8Array | null = null;
  private onPath: Uint8Array | null = null;
  private matches: Uint8Array | null = null;
  private now: number | null = null;

  constructor(
    private readonly tree: Tree,
    private readonly facts: Facts[],
  ) {}

  keep(nodes: Set<number> | null): void {
    this.kept = nodes && holding(this.tree, nodes);
  }

  path(nodes: Set<number> | null): void {
    this.onPath = nodes && holding(this.tree, nodes);
  }

  match(nodes: number[]): void {
    this.matches = nodes.length > 0 ? holding(this.tree, new Set(nodes)) : null;
  }

  until(op: number | null): void {
    this.now = op;
  }

  readonly dim = (item: Item): boolean => {
    const id = item.box?.id ?? item.cut!.target.id;
    if (this.kept && !this.kept[id]) return true;
    if (this.onPath && !this.onPath[id]) return true;
    return this.now !== null && this.facts[id]!.op > this.now;
  };

  readonly chosen = (item: Item): boolean => {
    const box = item.box;
    if (!box) return false;
    return this.selected.has(box.id) || this.holdsSelected(item);
  };

  /** A closed box stands for what is selected inside it. */
  private holdsSelected(item: Item): boolean {
    if (item.open || item.box!.children.length === 0) return false;
    for (const id of this.selected) {
      for (let at = this.tree.boxes[id]!.parent; at; at = at.parent)
        if (at === item.box) return true;
    }
    return false;
  }

  apply(item: Item, element: SVGGElement): void {
    // An open box is never dimmed as a whole: what is in it decides for itself.
    element.classList.toggle("ai-dim", this.dim(item));
    element.classList.toggle(
      "ai-found",
      !item.open && item.box !== null && this.matches?.[item.box.id] === 1,
    );
    if (item.box) element.setAttribute("aria-pressed", String(this.chosen(item)));
  }
}

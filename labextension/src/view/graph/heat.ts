/** How much of something is in each box, as a share of the most that any box in sight has. */

import { nodesOf, type Tree } from "../../layout/box";
import type { Item } from "../../layout/scene";

export class Heat {
  readonly #amounts: Float64Array;
  #most = 0;

  /** `values`: by node id. */
  constructor(tree: Tree, values: ArrayLike<number>) {
    const amounts = new Float64Array(tree.boxes.length);
    // Boxes come before what they contain.
    for (let id = tree.boxes.length - 1; id >= 0; id--) {
      const box = tree.boxes[id]!;
      const { parent } = box;
      for (const node of nodesOf(box)) amounts[id] = amounts[id]! + (values[node.id] ?? 0);
      if (parent) amounts[parent.id] = amounts[parent.id]! + amounts[id]!;
    }
    this.#amounts = amounts;
  }

  /** The most that a closed box of the scene has. */
  over(items: Iterable<Item>): number {
    this.#most = 0;
    for (const item of items) {
      if (item.box && !item.open) this.#most = Math.max(this.#most, this.#amounts[item.box.id]!);
    }
    return this.#most;
  }

  /** From 0 to 1, so that a box with a quarter is half as hot; an open box leaves that to what is in it. */
  of(item: Item): number {
    if (!item.box || item.open || this.#most === 0) return 0;
    return Math.sqrt(this.#amounts[item.box.id]! / this.#most);
  }
}

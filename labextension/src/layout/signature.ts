/** Equal numbers for boxes of equal structure: class or op names inside, in order; parameters do not count. */

import type { Call } from "../model/graph";
import type { Box } from "./box";

export class Signatures {
  readonly #known = new Map<string, number>();

  constructor(private readonly calls: Map<number, Call>) {}

  of(box: Box): number {
    if (box.signature >= 0) return box.signature;
    const key = box.node ? box.node.name : this.#inside(box);
    let number = this.#known.get(key);
    if (number === undefined) {
      number = this.#known.size;
      this.#known.set(key, number);
    }
    box.signature = number;
    return number;
  }

  /** No name of an op has a space in it. */
  #inside(box: Box): string {
    let key = `${box.kind} ${box.kind === "module" ? this.calls.get(box.call)!.type : box.children.length}`;
    for (const child of box.children) key += ` ${this.of(child)}`;
    return key;
  }
}

/** Equal numbers for boxes of equal structure: class or op names inside, in order; parameters do not count. */

import type { Call } from "../model/graph";
import type { Box } from "./box";

export class Signatures {
  private readonly known = new Map<string, number>();
  private readonly cache = new Map<Box, number>();

  constructor(private readonly calls: Map<number, Call>) {}

  of(box: Box): number {
    const cached = this.cache.get(box);
    if (cached !== undefined) return cached;
    const name = box.node
      ? box.node.name
      : box.kind === "module"
        ? this.calls.get(box.call)!.type
        : `${box.children.length}`;
    const key = `${box.kind}:${name}(${box.children.map((child) => this.of(child)).join()})`;
    let number = this.known.get(key);
    if (number === undefined) {
      number = this.known.size;
      this.known.set(key, number);
    }
    this.cache.set(box, number);
    return number;
  }
}

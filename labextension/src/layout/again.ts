/** What a checkpoint computed again during backward, box by box. */

import type { Box } from "./box";
import { isLeaf } from "./leaves";

/** How many ops in a box were computed again, and how many there are. */
export function computedAgainIn(box: Box): [number, number] {
  if (box.node) return isLeaf(box.node) ? [0, 0] : [Number(box.computedAgain), 1];
  let [again, ops] = [0, 0];
  for (const child of box.children) {
    const [more, all] = computedAgainIn(child);
    again += more;
    ops += all;
  }
  return [again, ops];
}

/**
 * Marks the boxes of which all was. Their last ops may not have been: a checkpoint stops as soon as backward has what it
 * needs.
 */
export function markComputedAgain(box: Box): void {
  if (box.node) {
    box.computedAgain ||= box.again.length > 0;
    box.holdsAgain = box.computedAgain;
    return;
  }
  let [again, once, groups] = [0, 0, 0];
  let all = true;
  for (const child of box.children) {
    markComputedAgain(child);
    box.holdsAgain ||= child.holdsAgain;
    if (child.kind === "crowd" || (child.node && isLeaf(child.node))) continue;
    if (child.children.length > 0) {
      groups++;
      all &&= child.computedAgain;
    } else if (child.computedAgain) again++;
    else once++;
  }
  box.computedAgain = all && (groups > 0 || (again > 0 && again >= once));
}

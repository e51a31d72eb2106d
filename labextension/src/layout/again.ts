/** What a checkpoint computed again during backward, box by box. */

import type { Box } from "./box";
import { isLeaf } from "./leaves";

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

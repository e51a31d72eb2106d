/** What a screen reader says of a box: what is written in it, word for word, and what only its looks tell. */

import type { Box } from "../../layout/box";
import type { Labels } from "../../layout/labels";
import { trans } from "../../words";
import { BADGES } from "./badge";
import type { Facts } from "./facts";
import { lookOfBox, MEANING } from "./node_style";

function group({ kind }: Box): string {
  if (kind === "module") return trans.__("module");
  if (kind === "repeat") return trans.__("repetition");
  return kind === "crowd" ? trans.__("group of tensors") : trans.__("group");
}

export function spoken(box: Box, open: boolean, labels: Labels, facts: Facts[]): string {
  // A name must begin with the visible text as it stands: speech control looks for that.
  const parts = open
    ? labels.head(box).filter((text) => text !== "")
    : labels.lines(box).map((line) => line.text);
  const { worst } = box.troubles;
  if (worst && !open) parts.push(BADGES[worst].meaning());
  const meaning = box.node ? MEANING[lookOfBox(box, facts)]() : group(box);
  if (!parts.includes(meaning)) parts.push(meaning);
  if (box.computedAgain) parts.push(trans.__("computed again during backward"));
  if (box.node?.path) parts.push(trans.__("in %1", box.node.path));
  const region = facts[box.id]!.region;
  if (region) parts.push(trans.__("under %1", region));
  return parts.join(", ");
}

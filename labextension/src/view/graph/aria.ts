/** What a screen reader says of a box. */

import type { Labels } from "../../layout/labels";
import type { Item } from "../../layout/scene";
import type { Facts } from "./facts";
import { lookOf, MEANING } from "./looks";

const GROUPS: Record<string, string> = {
  module: "module",
  repeat: "repetition",
  crowd: "group of tensors",
};

export function spoken(item: Item, labels: Labels, facts: Facts[]): string {
  const box = item.box!;
  const kind = box.node ? MEANING[lookOf(item, facts)] : (GROUPS[box.kind] ?? "group");
  const parts = [kind, ...labels.of(box).lines.map((line) => line.text)];
  if (box.node?.path) parts.push(`in ${box.node.path}`);
  const region = facts[box.id]!.region;
  if (region) parts.push(region);
  return parts.join(", ");
}

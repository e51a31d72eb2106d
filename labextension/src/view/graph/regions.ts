/** Grad modes as shades behind the boxes that ran under them. */

import type { Item } from "../../layout/scene";
import type { Rect } from "./camera";
import type { Facts } from "./facts";

/** The outermost box of a grad mode carries its shade. */
export function startsRegion(item: Item, facts: Facts[]): boolean {
  const box = item.box;
  if (!box) return false;
  const region = facts[box.id]!.region;
  return region !== "" && (!box.parent || facts[box.parent.id]!.region !== region);
}

/** As far as half the way to the next row, so that neighbours' shades join. */
export const regionOf = (item: Item): Rect => ({
  left: item.x - 8,
  top: item.y - 12,
  right: item.x + item.width + 8,
  bottom: item.y + item.height + 12,
});

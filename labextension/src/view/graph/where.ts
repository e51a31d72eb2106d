/** Where items are: what stands at a point, whether all of a box is in sight, and what brings it there. */

import { HEAD } from "../../layout/compose";
import type { Item, Scene } from "../../layout/scene";
import type { Camera, Rect } from "./camera";

/** Width of the button that opens and closes a box, and of its surroundings. */
const TOGGLE_REACH = 26;

export const bounds = (item: Item): Rect => ({
  left: item.x,
  top: item.y,
  right: item.x + item.width,
  bottom: item.y + item.height,
});

/** An open box is as good as its head. */
export const heightOf = (item: Item): number => (item.open ? HEAD : item.height);

export function inside(item: Item, seen: Rect): boolean {
  return (
    item.x >= seen.left &&
    item.x + item.width <= seen.right &&
    item.y >= seen.top &&
    item.y + heightOf(item) <= seen.bottom
  );
}

/** Room that is left around what is brought into sight. */
const AROUND = 16;

/** Several at once, as large as they fit, down to that scale; else the first of them. `always`: also what is in sight. */
export function bringTogether(
  items: Item[],
  camera: Camera,
  smallest: number,
  always = false,
): void {
  const [first] = items;
  if (!first || (!always && items.every((item) => inside(item, camera.seen)))) return;
  const all = {
    left: Math.min(...items.map((item) => item.x)) - AROUND,
    top: Math.min(...items.map((item) => item.y)) - AROUND,
    right: Math.max(...items.map((item) => item.x + item.width)) + AROUND,
    bottom: Math.max(...items.map((item) => item.y + heightOf(item))) + AROUND,
  };
  const fits = (k: number) =>
    (all.right - all.left) * k <= camera.width && (all.bottom - all.top) * k <= camera.height;
  const middle: [number, number] = [(all.left + all.right) / 2, (all.top + all.bottom) / 2];
  if (fits(camera.k)) camera.centre(...middle);
  else if (fits(smallest)) camera.show(all);
  else bringIntoSight(first, camera, always);
}

/** Moves the picture only if the item is not in sight already. */
export function bringIntoSight(item: Item, camera: Camera, always = false): void {
  if (!always && inside(item, camera.seen)) return;
  camera.centre(item.x + item.width / 2, item.y + heightOf(item) / 2);
}

/** The innermost box at a point of the stage. */
export function itemAt(
  scene: Scene,
  camera: Camera,
  x: number,
  y: number,
): { item: number; toggle: boolean } | null {
  const { k } = camera;
  const [sx, sy] = [(x - camera.x) / k, (y - camera.y) / k];
  for (let at = scene.items.length - 1; at >= 0; at--) {
    const item = scene.items[at]!;
    if (!item.box || sx < item.x || sx > item.x + item.width) continue;
    if (sy < item.y || sy > item.y + heightOf(item)) continue;
    const toggle = item.box.children.length > 0 && sx < item.x + TOGGLE_REACH;
    return { item: item.id, toggle };
  }
  return null;
}

/** From box to box by arrow keys. */

import type { Item, Scene } from "../../layout/scene";

export type Direction = "up" | "down" | "left" | "right";

export const DIRECTIONS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

/** Along a wire where there is one, else to the nearest box that way. */
export function neighbour(scene: Scene, from: Item, direction: Direction): Item | null {
  const boxes = scene.items.filter((item) => item.box && item.id !== from.id);
  const vertical = direction === "up" || direction === "down";
  if (vertical) {
    const joined = new Set(joinedTo(scene, from.id, direction));
    const near = nearest(
      from,
      boxes.filter((item) => joined.has(item.id)),
      direction,
    );
    if (near) return near;
  }
  const siblings = boxes.filter((item) => item.box!.parent === from.box!.parent);
  return (
    nearest(from, siblings, direction) ??
    nearest(
      from,
      boxes.filter((item) => !item.open),
      direction,
    )
  );
}

/** What wires lead to from a box, through cuts. */
function joinedTo(scene: Scene, id: number, direction: Direction): number[] {
  const cuts = new Set(scene.items.filter((item) => item.cut).map((item) => item.id));
  const next = (at: number): number[] =>
    scene.wires.flatMap((wire) =>
      direction === "down"
        ? wire.from === at
          ? wire.to
          : []
        : wire.to.includes(at)
          ? [wire.from]
          : [],
    );
  return next(id).flatMap((at) => (cuts.has(at) ? next(at) : [at]));
}

function nearest(from: Item, items: Item[], direction: Direction): Item | null {
  const [x, y] = middle(from);
  let [best, least]: [Item | null, number] = [null, Number.POSITIVE_INFINITY];
  for (const item of items) {
    const [dx, dy] = [middle(item)[0] - x, middle(item)[1] - y];
    const [along, across] =
      direction === "right"
        ? [dx, dy]
        : direction === "left"
          ? [-dx, dy]
          : direction === "down"
            ? [dy, dx]
            : [-dy, dx];
    const distance = along + 3 * Math.abs(across);
    if (along <= 0 || distance >= least) continue;
    [best, least] = [item, distance];
  }
  return best;
}

/** An open box is where its head is. */
function middle(item: Item): [number, number] {
  return [item.x + item.width / 2, item.y + (item.open ? 12 : item.height / 2)];
}

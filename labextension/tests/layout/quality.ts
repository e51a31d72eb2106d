/** What makes a layout readable, as questions with lists of faults for answers. */

import type { Layout } from "../../src/layout";
import { HEAD } from "../../src/layout/compose";
import type { Item, Scene, Stroke } from "../../src/layout/scene";
import { roughly } from "../../src/layout/text";

const within = (a: Item, b: Item): boolean =>
  a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;

const apart = (a: Item, b: Item): boolean =>
  a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

/** Id of the box that an item is drawn in. */
export const homeOf = (item: Item): number => (item.box ? item.box.parent! : item.cut!.scope).id;

const name = (item: Item): string =>
  `${item.id} ${item.text || item.box?.node?.name || item.box?.kind}`;

function byHome(scene: Scene): Map<number, Item[]> {
  const homes = new Map<number, Item[]>();
  for (const item of scene.items) {
    const home = homeOf(item);
    homes.set(home, [...(homes.get(home) ?? []), item]);
  }
  return homes;
}

export function overlapping(scene: Scene): string[] {
  const faults: string[] = [];
  for (const items of byHome(scene).values()) {
    items.forEach((a, at) => {
      for (const b of items.slice(at + 1)) if (!apart(a, b)) faults.push(`${name(a)} / ${name(b)}`);
    });
  }
  return faults;
}

/** Boxes that stick out of the one around them, or cover its name. */
export function escaping(scene: Scene): string[] {
  const byId = new Map(scene.items.map((item) => [item.id, item]));
  return scene.items
    .filter((item) => {
      const home = byId.get(homeOf(item));
      if (home) return !within(item, home) || item.y < home.y + HEAD;
      return (
        item.x < 0 ||
        item.y < 0 ||
        item.x + item.width > scene.width ||
        item.y + item.height > scene.height
      );
    })
    .map(name);
}

function points(stroke: Stroke): [number, number][] {
  const { x1, y1, bend1, bend2, x2, y2 } = stroke;
  const found: [number, number][] = [];
  for (let n = 0; n <= 6; n++)
    found.push([x1, y1 + ((bend1 - y1) * n) / 6], [x2, bend2 + ((y2 - bend2) * n) / 6]);
  const middle = (bend1 + bend2) / 2;
  for (let n = 0; n <= 24; n++) {
    const t = n / 24;
    const [a, b, c, d] = [(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t ** 2, t ** 3];
    found.push([(a + b) * x1 + (c + d) * x2, a * bend1 + (b + c) * middle + d * bend2]);
  }
  return found;
}

/** Wires that pass through or behind a box of their scope that they do not end at. */
export function crossing(scene: Scene): string[] {
  const homes = byHome(scene);
  const faults: string[] = [];
  for (const wire of scene.wires) {
    const others = (homes.get(wire.scope.id) ?? []).filter(
      (item) => item.id !== wire.from && !wire.to.includes(item.id),
    );
    if (others.length === 0) continue;
    for (const stroke of wire.strokes()) {
      for (const [x, y] of points(stroke)) {
        const hit = others.find(
          (item) => x > item.x && x < item.x + item.width && y > item.y && y < item.y + item.height,
        );
        if (hit) faults.push(`${wire.from} -> ${wire.to} through ${name(hit)}`);
      }
    }
  }
  return faults;
}

/** Wires whose ends do not meet what they join. */
export function loose(scene: Scene): string[] {
  const byId = new Map(scene.items.map((item) => [item.id, item]));
  const faults: string[] = [];
  for (const wire of scene.wires) {
    const from = byId.get(wire.from);
    const first = wire.strokes()[0]!;
    if (from && (first.x1 < from.x || first.x1 > from.x + from.width))
      faults.push(`start of ${wire.from}`);
    for (const [x, y, up] of wire.tips()) {
      const met = wire.to.some((id) => {
        const item = byId.get(id);
        return item && x >= item.x && x <= item.x + item.width && y === item.y;
      });
      if (!met && !up) faults.push(`end of ${wire.from} -> ${wire.to}`);
    }
  }
  return faults;
}

/** Wires that leave the box whose contents they join. */
export function straying(scene: Scene): string[] {
  const byId = new Map(scene.items.map((item) => [item.id, item]));
  return scene.wires
    .filter((wire) => {
      const home = byId.get(wire.scope.id);
      if (!home) return false;
      const { x, y, width, height } = home;
      return wire.left < x || wire.right > x + width || wire.top < y || wire.bottom > y + height;
    })
    .map((wire) => `${wire.from} -> ${wire.to}`);
}

/** Labels that are wider or higher than their box. */
export function cramped(scene: Scene, layout: Layout): string[] {
  return scene.items
    .filter((item) => {
      if (item.cut) return roughly(item.text, "small") > item.width - 8;
      if (item.open) return layout.labels.headWidth(item.box!) > item.width - 26;
      const lines = layout.labels.of(item.box!).lines;
      const width = Math.max(
        ...lines.map((l) => roughly(l.text, l.role === "title" ? "title" : "small")),
      );
      return width > item.width - 8 || lines.length * 14 + 8 > item.height;
    })
    .map(name);
}

/** The minimap covers nothing, if there is a free corner, and never what is chosen. */

import { expect, test } from "vitest";
import type { Item, Scene } from "../src/layout/scene";
import { Camera } from "../src/view/graph/camera";
import { Minimap } from "../src/view/graph/minimap";

const ROOM = 500;

function mapOf(
  items: Item[],
  chosen: Item[],
  height = 2000,
): { map: Minimap; draw: () => void; camera: Camera } {
  const camera = new Camera(() => {});
  [camera.width, camera.height] = [ROOM, ROOM];
  const scene: Scene = { width: 2000, height, items, wires: [] };
  const map = new Minimap(
    camera,
    () => "op-line",
    () => "#888",
    () => chosen,
  );
  map.draw(scene);
  map.update(scene);
  return { map, camera, draw: () => map.update(scene) };
}

const at = (x: number, y: number, open = false) => ({ x, y, width: 40, height: 30, open }) as Item;
const seenThrough = (map: Minimap) => map.root.classList.contains("agi-through");

test.each([
  ["in the middle", 250, 250, "bottom right"],
  ["at the right", 440, 440, "bottom left"],
  ["at the left", 20, 440, "bottom right"],
])("what is chosen %s stays in sight", (_, x, y, corner) => {
  const { map } = mapOf([at(x, y)], [at(x, y)]);
  expect(map.root.hidden).toBe(false);
  expect(map.root.dataset.corner).toBe(corner);
});

test("it steps aside for any node into a free corner, and stays there", () => {
  const { map, camera, draw } = mapOf([at(440, 440)], []);
  expect(map.root.dataset.corner).toBe("bottom left");
  camera.y = -400;
  draw();
  expect(map.root.dataset.corner).toBe("bottom left");
  expect(seenThrough(map)).toBe(false);
});

test("where every corner has a node it is seen through, and covers nothing that is chosen", () => {
  const corners = [at(440, 440), at(20, 440), at(440, 20), at(20, 20)];
  const { map } = mapOf([...corners, at(250, 250, true)], [corners[0]!]);
  expect(map.root.dataset.corner).toBe("bottom left");
  expect(seenThrough(map)).toBe(true);
});

test("a strip in which nothing can be found covers no node", () => {
  const corners = [at(440, 470), at(20, 470), at(440, 10), at(20, 10)];
  expect(mapOf(corners, [], 150).map.root.hidden).toBe(true);
  expect(mapOf([], [], 150).map.root.hidden).toBe(false);
});

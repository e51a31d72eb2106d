/** The minimap covers nothing that is chosen. */

import { expect, test } from "vitest";
import type { Item, Scene } from "../src/layout/scene";
import { Camera } from "../src/view/graph/camera";
import { Minimap } from "../src/view/graph/minimap";

test.each([
  ["in the middle", 250, 250, "bottom right"],
  ["at the right", 440, 440, "bottom left"],
  ["at the left", 20, 440, "bottom right"],
])("what is chosen %s stays in sight", (_, x, y, corner) => {
  const camera = new Camera(() => {});
  [camera.width, camera.height] = [500, 500];
  const chosen = { x, y, width: 40, height: 30, open: false } as Item;
  const scene: Scene = { width: 2000, height: 2000, items: [chosen], wires: [] };
  const map = new Minimap(
    camera,
    () => "op-line",
    () => "#888",
    () => [chosen],
  );
  map.draw(scene);
  map.update(scene);
  expect(map.root.hidden).toBe(false);
  expect(map.root.dataset.corner).toBe(corner);
});

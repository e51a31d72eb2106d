/** Fingers on the picture. */

import { beforeEach, expect, test, vi } from "vitest";
import { Camera } from "../src/view/graph/camera";
import { listen } from "../src/view/graph/pointer";

let camera: Camera;
let view: HTMLElement;
const pick = vi.fn();

beforeEach(() => {
  camera = new Camera(() => {});
  view = document.createElement("div");
  pick.mockReset();
  listen(view, camera, { pick, toggle: vi.fn(), at: () => null, engaged: () => true });
});

function point(kind: string, pointerId: number, clientX: number, clientY: number): void {
  const event = new MouseEvent(kind, { bubbles: true, button: 0, buttons: 1, clientX, clientY });
  view.dispatchEvent(Object.assign(event, { pointerId }));
}

test("a finger that is dragged moves the picture, and chooses nothing", () => {
  point("pointerdown", 1, 100, 100);
  point("pointermove", 1, 130, 110);
  point("pointerup", 1, 130, 110);
  view.dispatchEvent(new MouseEvent("click"));
  expect([camera.x, camera.y, camera.k]).toEqual([30, 10, 1]);
  expect(pick).not.toHaveBeenCalled();
});

test("two fingers that part zoom: what lay between them stays there", () => {
  point("pointerdown", 1, 100, 100);
  point("pointerdown", 2, 200, 100);
  const middle = () => (150 - camera.x) / camera.k;
  const before = middle();
  point("pointermove", 1, 50, 100);
  point("pointermove", 2, 250, 100);
  expect(camera.k).toBeCloseTo(2);
  expect(middle()).toBeCloseTo(before);
});

test("a finger that the browser takes to scroll the page is forgotten, and what it moved", () => {
  point("pointerdown", 1, 100, 100);
  point("pointermove", 1, 100, 120);
  point("pointercancel", 1, 100, 120);
  expect([camera.x, camera.y]).toEqual([0, 0]);
  point("pointerdown", 2, 200, 100);
  point("pointermove", 2, 230, 100);
  expect([camera.x, camera.k]).toEqual([30, 1]);
});

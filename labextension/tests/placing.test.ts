/** Where the camera stands when the picture's room changes. */

import { beforeEach, expect, test } from "vitest";
import type { Item } from "../src/layout/scene";
import { Camera } from "../src/view/graph/camera";
import { Placing } from "../src/view/graph/placing";
import { inside } from "../src/view/graph/where";

const item = (y: number): Item => ({ x: 100, y, width: 80, height: 40, open: false }) as Item;
const camera = new Camera(() => {});
let chosen: Item[];
let placing: Placing;
let problem: Item[];

beforeEach(() => {
  [chosen, problem] = [[], []];
  placing = new Placing({
    camera,
    scene: { width: 300, height: 2000, items: [], wires: [] },
    chosen: () => chosen,
    problem: () => problem,
    paint: () => {},
  });
});

test("at first it looks at what went wrong, or at what is chosen already", () => {
  problem = [item(1900)];
  placing.resize(300, 400);
  expect(inside(problem[0]!, camera.seen)).toBe(true);
  chosen = [item(20)];
  placing.start();
  expect(inside(chosen[0]!, camera.seen)).toBe(true);
  expect(inside(problem[0]!, camera.seen)).toBe(false);
});

test("a picture that is too wide to be read whole begins at its left, as a high one at its top", () => {
  placing.resize(200, 400);
  expect(camera.seen).toMatchObject({ left: 0, top: 0 });
  placing.resize(400, 400);
  expect(camera.seen.left).toBeCloseTo(300 - camera.seen.right);
  expect(camera.seen.top).toBeCloseTo(0);
});

test("what was chosen before the picture had any room is in sight when it has", () => {
  [chosen, problem] = [[item(20)], [item(1900)]];
  placing.resize(300, 400);
  expect(inside(chosen[0]!, camera.seen)).toBe(true);
});

test("a chosen box that was in sight stays in sight, whether or not the picture was moved", () => {
  problem = [item(1000)];
  for (const dy of [0, 30]) {
    placing.resize(300, 400);
    camera.pan(0, dy);
    chosen = [item(1000 + 150)];
    expect(inside(chosen[0]!, camera.seen)).toBe(true);
    placing.resize(300, 120);
    expect(inside(chosen[0]!, camera.seen)).toBe(true);
    chosen = [];
  }
});

test("a chosen box that the user moved out of sight is left there", () => {
  chosen = [item(20)];
  placing.resize(300, 400);
  camera.pan(0, -1500);
  const { y } = camera;
  expect(placing.resize(300, 300)).toBe(false);
  expect(camera.y).toBe(y);
});

test("what is chosen together is in sight together, smaller if need be, unless it is too far apart", () => {
  chosen = [item(900), item(1400)];
  placing.resize(300, 400);
  expect(chosen.every((one) => inside(one, camera.seen))).toBe(true);
  expect(camera.k).toBeLessThan(0.8);
  chosen = [item(20), item(1900)];
  placing.start();
  expect(chosen.map((one) => inside(one, camera.seen))).toEqual([true, false]);
  expect(camera.k).toBe(0.8);
});

test("a picture that does not fit is centred on what went wrong, and leaves no room empty beside it", () => {
  const scene = { width: 3000, height: 2000 };
  camera.scene = scene;
  const parts = { camera, scene: { ...scene, items: [], wires: [] }, chosen: () => [], paint() {} };
  const at = (x: number, y: number): void => {
    const placed = new Placing({ ...parts, problem: () => [{ ...item(y), x }] });
    placed.resize(400, 300);
  };
  at(1500, 1000);
  const { left, right } = camera.seen;
  expect((left + right) / 2).toBeCloseTo(1540);
  at(0, 0);
  expect(camera.seen.left).toBeCloseTo(0);
  expect(camera.seen.top).toBeCloseTo(0);
  at(2920, 1960);
  expect([camera.seen.right, camera.seen.bottom]).toEqual([3000, 2000]);
  camera.scene = { width: 0, height: 0 };
});

import { expect, test } from "vitest";
import { decode } from "../src/model/decode";
import { steps } from "../src/view/steps";
import { payload } from "./fixtures";

const FOUND = {
  said: "60 complete steps",
  count: 60,
  figures: [
    { label: "autograd nodes", said: "6 to 7", at: [0, 19, 59], values: [6, 7, 6] },
    { label: "backward runs", said: "1", at: [], values: [] },
  ],
  news: [{ step: 20, said: "`<b>exp` ran here for the first time", place: "train.py:7" }],
  untold: 3,
};

test("a figure that differs between steps has a line, with its highest point on top", () => {
  const host = steps(FOUND)!;
  const lines = [...host.querySelectorAll("polyline")];
  expect(lines.map((line) => line.getAttribute("points"))).toEqual([
    "2.0,22.0 78.0,2.0 238.0,22.0",
  ]);
  expect(host.querySelector("svg")!.getAttribute("aria-label")).toBe(
    "autograd nodes over 60 steps: 6 to 7",
  );
});

test("what was new is told as text, never as markup", () => {
  const told = [...steps(FOUND)!.querySelectorAll("li")].map((line) => line.textContent);
  expect(told).toEqual([
    "step 20 <b>exp ran here for the first time train.py:7",
    "… and 3 changes more",
  ]);
});

test("a capture of one step has no such part", () => {
  expect(steps(null)).toBeNull();
  expect(steps(undefined)).toBeNull();
});

test("steps that are damaged are said in one line, those of an older capture are missing", () => {
  const { text } = payload("broken");
  const told = (found: unknown) => () =>
    decode(JSON.stringify({ ...JSON.parse(text), steps: found }));
  expect(told(FOUND)().steps).toEqual(FOUND);
  expect(told(undefined)().steps).toBeUndefined();
  expect(told({ figures: 3 })).toThrow("damaged: steps");
  expect(told({ ...FOUND, figures: [{ at: [1], values: [] }] })).toThrow("damaged: steps");
});

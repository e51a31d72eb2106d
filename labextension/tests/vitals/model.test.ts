import { expect, test } from "vitest";
import { decode } from "../../src/model/decode";
import { csvOf } from "../../src/model/vitals/csv";
import { ordered } from "../../src/model/vitals/order";
import { crosses, runsOf } from "../../src/model/vitals/runs";
import { type Cell, said, scaleOf } from "../../src/model/vitals/scale";
import type { Vitals, VitalsRow } from "../../src/wire";
import { capture, payload } from "../fixtures";

function row(label: string, ...values: Cell[]): VitalsRow {
  return { label, path: label, values, peak: null, peak_step: -1 };
}

const LOGARITHMIC = scaleOf({ rows: [row("a", 1e-8, 0, "nan", null, 10)], logarithmic: true });

test("a logarithmic scale gives every order of magnitude the same width", () => {
  const shades = [1e-8, 2e-7, 2e-6, 2e-5, 2e-4, 2e-3, 2e-2, 0.2, 2, 10].map(LOGARITHMIC.shade);
  expect(shades).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 8]);
});

test("an exact zero, what is not finite and what was not measured are no part of the scale", () => {
  const cells: Cell[] = [0, "nan", "inf", "-inf", null];
  expect(cells.map(LOGARITHMIC.shade)).toEqual([
    "zero",
    "nonfinite",
    "nonfinite",
    "nonfinite",
    "unmeasured",
  ]);
  expect([LOGARITHMIC.low, LOGARITHMIC.high]).toEqual([1e-8, 10]);
});

test("a share is drawn between 0 and 1, whatever the values are", () => {
  const scale = scaleOf({ rows: [row("a", 0.5, 0.6)], logarithmic: false });
  expect([scale.low, scale.high, scale.shade(0.5), scale.shade(1)]).toEqual([0, 1, 4, 8]);
});

test("values that are all the same have the middle of the scale", () => {
  const scale = scaleOf({ rows: [row("a", 3, 3)], logarithmic: true });
  expect([scale.shade(3), scale.share(3)]).toEqual([4, 0.5]);
});

test("neighbours with one shade are one shape, and only the columns asked for are drawn", () => {
  const cells: Cell[] = [1e-8, 1e-8, 10, "nan", 1e-8];
  const runs = new Map(runsOf(cells, LOGARITHMIC, [1, 4]).map((run) => [run.shade, run.path]));
  expect(runs.get(0)).toBe("M0 0h1v1h-1zM3 0h1v1h-1z");
  expect(runs.get(8)).toBe("M1 0h1v1h-1z");
  expect(crosses(cells, LOGARITHMIC, [1, 4])).toBe("M2 0l1 1m0 -1l-1 1");
  expect(runsOf([1e-8, 1e-8, 1e-8], LOGARITHMIC, [0, 2])[0]!.path).toBe("M0 0h3v1h-3z");
});

test("rows are sorted by their latest value in sight; NaN is the largest, and nothing is last", () => {
  const rows = [row("a", 1, 5), row("b", 9, null), row("c", null, null), row("d", 2, "nan")];
  const quantity = { key: "weight", logarithmic: true, rows };
  const labels = (order: "module" | "largest" | "smallest", to: number) =>
    ordered(quantity, order, "", [0, to]).map((n) => rows[n]!.label);
  expect(labels("module", 1)).toEqual(["a", "b", "c", "d"]);
  expect(labels("largest", 1)).toEqual(["d", "b", "a", "c"]);
  expect(labels("smallest", 1)).toEqual(["a", "b", "d", "c"]);
  expect(labels("largest", 0)).toEqual(["b", "d", "a", "c"]);
  expect(ordered(quantity, "module", " B ", [0, 1])).toEqual([1]);
});

test("the worst is not finite, then exactly zero, then furthest from the others", () => {
  const rows = [
    row("a", 1),
    row("b", 1e-4),
    row("c", 2),
    row("d", 0),
    row("e", "nan"),
    row("f", 50),
    row("g", null),
  ];
  const labels = (key: string, logarithmic: boolean, some = rows) =>
    ordered({ key, logarithmic, rows: some }, "worst", "", [0, 0]).map((n) => some[n]!.label);
  expect(labels("gradient", true)).toEqual(["e", "d", "b", "f", "a", "c", "g"]);
  const shares = [row("a", 0.1), row("b", 0.9), row("c", 0)];
  expect(labels("dead", false, shares)).toEqual(["b", "a", "c"]);
  expect(labels("cosine", false, shares)).toEqual(["c", "a", "b"]);
});

test("values are said with three digits", () => {
  const cells: Cell[] = [0.012345, 3.21e-7, 123456, 0, "nan", "-inf", null];
  expect(cells.map(said)).toEqual([
    "0.0123",
    "3.21e-7",
    "1.23e5",
    "0",
    "NaN",
    "-inf",
    "not measured",
  ]);
});

test("the CSV has one value a line, and quotes what has a separator in it", () => {
  const vitals: Vitals = {
    steps: [1, 5],
    seen: 5,
    quantities: [
      { key: "gradient", title: "", logarithmic: true, rows: [row('a "b", c', 1, "nan")] },
    ],
    memory: [{ label: "saved", values: [8, null] }],
    updates: [2],
    scale: [65536],
  };
  expect(csvOf(vitals).split("\r\n")).toEqual([
    "quantity,module,step,value",
    'gradient,"a ""b"", c",1,1',
    'gradient,"a ""b"", c",5,nan',
    "saved bytes,,1,8",
    "loss scale,,2,65536",
    "",
  ]);
});

test("a name that a spreadsheet would take for a formula is text in the CSV, and numbers stay numbers", () => {
  const rows = [row("=cmd()", "-inf"), row("-x", -2), row("a=b", 3)];
  const quantities = [{ key: "gradient", title: "", logarithmic: true, rows }];
  const vitals: Vitals = { steps: [1], seen: 1, quantities, memory: [], updates: [], scale: [] };
  expect(csvOf(vitals).split("\r\n").slice(1, -1)).toEqual([
    "gradient,'=cmd(),1,-inf",
    "gradient,'-x,1,-2",
    "gradient,a=b,1,3",
  ]);
});

test("vitals that cannot be drawn are refused in one line", () => {
  const wire = JSON.parse(payload("vitals").text);
  const broken: ((vitals: Record<string, never>) => unknown)[] = [
    (vitals) => ({ ...vitals, steps: "12" }),
    (vitals) => ({ ...vitals, steps: [1] }),
    (vitals) => ({ ...vitals, quantities: [{ key: "a", title: "b", rows: [null] }] }),
    (vitals) => ({ ...vitals, memory: [{ label: "saved", values: ["many"] }] }),
    (vitals) => ({ ...vitals, scale: [1] }),
    (vitals) => ({ ...vitals, checkpoints: [{ name: "a", modules: [], type: "b" }] }),
    () => 3,
  ];
  for (const change of broken) {
    const text = JSON.stringify({ ...wire, vitals: change(wire.vitals) });
    expect(() => decode(text)).toThrow("this capture is damaged: vitals");
  }
  expect(capture("vitals").data.vitals!.steps.length).toBe(12);
});

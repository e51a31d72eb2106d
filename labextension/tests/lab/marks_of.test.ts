import { expect, test } from "vitest";
import { answerOf, countsOf, marksOf, newest, placeOf } from "../../src/lab/editor/marks_of";
import type { Entry, Mark } from "../../src/lab/kernel/messages";

const mark: Mark = {
  rule: "AG201",
  name: "saved-tensor-modified",
  severity: "error",
  message: "spoiled",
  cell: "In [3]",
  cell_id: "c3",
  line: 2,
  culprit: true,
};
const entry: Entry = {
  id: "1",
  name: "",
  cell: "In [3]",
  cell_id: "c3",
  first_line: "",
  headline: "",
  errors: 1,
  warnings: 0,
  infos: 0,
  nodes: 1,
  ops: 1,
  created: 1,
  seconds: 0,
  marks: [mark],
};
const cell = { id: "c3", count: 3, dirty: false, text: "x = 1\n  x += y  \n" };

test("the lines that findings name are marked, in order, with the gravest of what is said of each", () => {
  const info = { ...mark, severity: "info", rule: "AG101", culprit: false };
  const marks = [{ ...mark, line: 5 }, mark, info];
  const lines = marksOf([{ ...entry, marks }], cell);
  expect(lines.map(({ line, severity, culprit }) => [line, severity, culprit])).toEqual([
    [2, "error", true],
    [5, "error", true],
  ]);
  expect(lines[0]!.marks).toHaveLength(2);
});

test("a culprit is as grave as what it did, whatever else it belongs to", () => {
  const warning = { ...mark, severity: "warning", rule: "AG302" };
  const [line] = marksOf([{ ...entry, marks: [{ ...mark, culprit: false }, warning] }], cell);
  expect([line!.severity, line!.culprit]).toEqual(["warning", true]);
});

test("only the newest capture of a cell marks lines, even where it found nothing", () => {
  const healthy = { ...entry, id: "2", errors: 0, marks: [] };
  expect(marksOf([healthy, entry], cell)).toEqual([]);
  expect(newest([healthy, entry, { ...entry, cell_id: "c4" }]).map(({ id }) => id)).toEqual([
    "2",
    "1",
  ]);
});

test("a culprit in a file marks no cell, and is the answer", () => {
  const file = { ...mark, cell: "helpers.py", cell_id: "", path: "/project/helpers.py", line: 8 };
  const caller = { ...mark, culprit: false };
  const there = { ...entry, marks: [file, caller] };
  expect(marksOf([there], cell).map(({ line, culprit }) => [line, culprit])).toEqual([[2, false]]);
  expect(marksOf([there], { ...cell, count: null })).toHaveLength(1);
  expect(answerOf([there])).toBe(file);
  expect(placeOf(file)).toBe("helpers.py:8");
  expect(placeOf(caller)).toBe("line 2");
});

test("captures of different cells mark the same line once for the same finding", () => {
  const other = { ...entry, id: "2", cell_id: "c9", cell: "In [9]" };
  expect(marksOf([other, entry], cell)[0]!.marks).toHaveLength(1);
});

test("a cell that was edited, or ran again since, has no marks", () => {
  expect(marksOf([entry], { ...cell, dirty: true })).toEqual([]);
  expect(marksOf([entry], { ...cell, count: 7 })).toEqual([]);
  expect(marksOf([entry], { ...cell, count: null })).toHaveLength(1);
});

test("without an id the number says which cell it is, and never an unnumbered one", () => {
  const nameless = { ...entry, marks: [{ ...mark, cell_id: "" }] };
  expect(marksOf([nameless], { ...cell, id: "x" })).toHaveLength(1);
  expect(marksOf([nameless], { ...cell, id: "x", count: 4 })).toEqual([]);
  expect(marksOf([nameless], { ...cell, id: "x", count: null })).toEqual([]);
});

test("findings are counted over the newest capture of each cell", () => {
  const older = { ...entry, id: "0", errors: 9 };
  const other = { ...entry, id: "2", cell_id: "c4", errors: 0, warnings: 2, infos: 1 };
  expect(countsOf([other, entry, older])).toEqual({ errors: 1, warnings: 2, infos: 1 });
});

test("a line that says something else than what ran has no mark", () => {
  const exact = { ...mark, source: "x += y" };
  expect(marksOf([{ ...entry, marks: [exact] }], cell)).toHaveLength(1);
  expect(marksOf([{ ...entry, marks: [{ ...exact, line: 1 }] }], cell)).toEqual([]);
  expect(marksOf([{ ...entry, marks: [{ ...exact, line: 9 }] }], cell)).toEqual([]);
});

import { expect, test } from "vitest";
import { compared } from "../../src/lab/editor/outcome";
import type { Entry, Mark } from "../../src/lab/kernel/messages";

const mark: Mark = {
  rule: "AG201",
  name: "saved-tensor-modified",
  severity: "error",
  message: "spoiled",
  cell: "In [3]",
  cell_id: "c3",
  line: 2,
};

function entry(marks: Mark[], more: Partial<Entry> = {}): Entry {
  const known = { id: "1", name: "", cell: "In [3]", cell_id: "c3", first_line: "", headline: "" };
  const counts = { errors: marks.length, warnings: 0, infos: 0, nodes: 1, ops: 1 };
  return { ...known, ...counts, created: 1, seconds: 0, marks, ...more };
}

test("a finding that no line has any more is gone, and what is left is counted", () => {
  const other = { ...mark, rule: "AG301", message: "no gradient" };
  expect(compared("AG201", entry([mark]), entry([]))).toEqual({
    gone: true,
    text: "AG201 is gone. Nothing else is reported.",
  });
  expect(compared("AG201", entry([mark, other]), entry([other])).text).toBe(
    "AG201 is gone. 1 finding is left.",
  );
});

test("of two findings of a rule one less is a cure", () => {
  const second = { ...mark, line: 9, message: "spoiled, too" };
  expect(compared("AG201", entry([mark, second]), entry([second])).gone).toBe(true);
});

test("a finding that is still there, a new exception and a cell without a capture are no cure", () => {
  const moved = { ...mark, line: 3 };
  expect(compared("AG201", entry([mark]), entry([moved])).text).toBe("AG201 is still reported.");
  const raising = entry([], { error: "NameError: h" });
  expect(compared("AG201", entry([mark]), raising)).toEqual({
    gone: false,
    text: "With the edit, the cell raises NameError: h",
  });
  expect(compared("AG201", entry([mark]), null).gone).toBe(false);
});

/** A patch of the inspector's, made in a cell's text. */

import { expect, test } from "vitest";
import { isCell, patched, sectionsOf } from "../src/model/patch";

const PATCH = `--- a/In [2]
+++ b/In [2]
@@ -1,3 +1,3 @@
 a = 1
-b = 2
+b = 3
 c = 3
@@ -6,0 +7 @@
+end = 1
--- a/train.py
+++ b/train.py
@@ -1 +1,2 @@
+import torch
 x = 1
`;

test("a section for each cell and each file", () => {
  const sections = sectionsOf(PATCH);
  expect(sections.map(({ name }) => name)).toEqual(["In [2]", "train.py"]);
  expect(sections.map(({ name }) => isCell(name))).toEqual([true, false]);
});

test("the changes of all hunks are made at their lines", () => {
  const [cell, file] = sectionsOf(PATCH);
  expect(patched("a = 1\nb = 2\nc = 3\nd\ne\nf", cell!)).toBe(
    "a = 1\nb = 3\nc = 3\nd\ne\nf\nend = 1",
  );
  expect(patched("x = 1\n", file!)).toBe("import torch\nx = 1\n");
});

test("a text that reads otherwise by now is left alone", () => {
  const [cell] = sectionsOf(PATCH);
  expect(patched("a = 1\nb = 22\nc = 3\nd\ne\nf", cell!)).toBeNull();
  expect(patched("", cell!)).toBeNull();
});

test("a line that begins like a header is a line of the program", () => {
  const [section] = sectionsOf("--- a/In [1]\n+++ b/In [1]\n@@ -1 +1 @@\n-x = 1\n+--x\n");
  expect(patched("x = 1", section!)).toBe("--x");
});

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { expect, test } from "vitest";
import { FIXES, type FixesAsked } from "../../src/lab/editor/bulb";
import { type LensEvents, lens, lenses } from "../../src/lab/editor/lens";
import { setRoom } from "../../src/lab/editor/lens_room";
import { show } from "../../src/lab/editor/marks_field";
import { answerOf, type MarkedLine } from "../../src/lab/editor/marks_of";
import type { Entry, Mark } from "../../src/lab/kernel/messages";

const PATCH = "--- a/In [1]\n+++ b/In [1]\n@@ -2 +2 @@\n-x += 1\n+x = x + 1\n";
const mark: Mark = {
  rule: "AG201",
  name: "saved-tensor-modified",
  severity: "error",
  message: "`x` was modified",
  cell: "In [1]",
  cell_id: "c",
  line: 2,
  culprit: true,
  patch: PATCH,
};
const line = (...marks: Mark[]): MarkedLine => ({
  line: 2,
  severity: "error",
  culprit: true,
  marks,
});
const idle: LensEvents = { point: () => {}, choose: () => {} };
const ROOM = { width: 800, character: 8 };

function editor(doc: string, marks: MarkedLine, words?: boolean): EditorView {
  const view = new EditorView({ state: EditorState.create({ doc }), parent: document.body });
  show(view, [marks], words);
  view.dispatch({ effects: setRoom.of(ROOM) });
  return view;
}

const drawn = (view: EditorView) => view.dom.querySelectorAll(".agi-lens");

test("a culprit says its rule, a phrase and the reason; a screen reader has the sign for that", () => {
  const made = lens(line(mark), idle);
  expect(made.textContent).toBe("AG201 saved-tensor-modified: x was modifiedPreview fix");
  expect(made.getAttribute("aria-hidden")).toBe("true");
  expect(made.querySelector("button")!.tabIndex).toBe(-1);
});

test("of several findings the gravest speaks, and the others are counted; remarks are not", () => {
  const warning = { ...mark, rule: "AG101", severity: "warning" };
  const remark = { ...mark, rule: "AG408", severity: "info" };
  const beside = { ...mark, rule: "AG999", culprit: false };
  const made = lens(line(remark, beside, warning, mark), idle);
  expect(made.querySelector("b")!.textContent).toContain("AG201");
  expect(made.querySelector(".agi-lens-more")!.textContent).toBe("+1");
  expect(made.classList.contains("agi-error")).toBe(true);
  expect(drawn(editor("a = 1\nx += 1", line(remark, beside)))).toHaveLength(0);
});

test("the preview is asked for at once; without an edit of cells there is none", () => {
  const asked: FixesAsked[] = [];
  const made = lens(line({ ...mark, rule: "AG101", severity: "warning" }, mark), idle);
  document.body.append(made);
  made.addEventListener(FIXES, (event) => asked.push((event as CustomEvent).detail));
  made.querySelector("button")!.click();
  expect(asked.map(({ marks, wish }) => [marks[0]!.rule, wish])).toEqual([["AG201", "preview"]]);
  expect(lens(line({ ...mark, patch: "" }), idle).querySelector("button")).toBeNull();
});

test("words stand behind the code; below it where the code leaves no room", () => {
  const state = (doc: string) => EditorState.create({ doc });
  const placed = (doc: string, width: number) => {
    const at: [number, boolean][] = [];
    const made = lenses(state(doc), [line(mark)], { width, character: 8 }, () => idle);
    made.between(0, doc.length, (from, _, { spec }) => void at.push([from, spec.block ?? false]));
    return at;
  };
  expect(placed("a = 1\n  x += 1\n", 800)).toEqual([[14, false]]);
  expect(placed("a = 1\n  x += 1\n", 300)).toEqual([[14, true]]);
  expect(placed(`a = 1\nx += "${"文".repeat(40)}"`, 800)).toEqual([[53, true]]);
});

test("words go with the first edit, and where nobody wants them", () => {
  const view = editor("a = 1\nx += 1", line(mark));
  expect(drawn(view)).toHaveLength(1);
  show(view, [line(mark)], false);
  expect(drawn(view)).toHaveLength(0);
  expect(view.dom.querySelector(".agi-squiggle")).not.toBeNull();
  show(view, [line(mark)], true);
  expect(drawn(view)).toHaveLength(1);
  view.dispatch({ changes: { from: 0, insert: "y" } });
  expect(drawn(view)).toHaveLength(0);
});

test("pointing at the words and choosing them is told", () => {
  const told: unknown[] = [];
  const made = lens(line(mark), { point: (on) => told.push(on), choose: () => told.push("go") });
  const words = made.querySelector<HTMLElement>(".agi-lens-words")!;
  words.dispatchEvent(new Event("mouseenter"));
  words.dispatchEvent(new Event("mouseleave"));
  words.click();
  expect(told).toEqual([true, false, "go"]);
});

test("the answer is the gravest culprit of the newest capture that has one", () => {
  const entry = (id: string, ...marks: Mark[]) => ({ id, cell: id, cell_id: id, marks }) as Entry;
  const warning = { ...mark, severity: "warning" };
  const remark = { ...mark, severity: "info" };
  expect(answerOf([entry("a", remark), entry("b", warning), entry("c", mark)])).toBe(warning);
  expect(answerOf([entry("a", warning, { ...mark, culprit: false }, mark)])).toBe(mark);
  expect(answerOf([entry("a", remark), entry("b")])).toBeNull();
});

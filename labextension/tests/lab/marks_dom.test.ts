import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { expect, test } from "vitest";
import { tip } from "../../src/lab/editor/marks_dom";
import { show, shown } from "../../src/lab/editor/marks_field";
import type { MarkedLine } from "../../src/lab/editor/marks_of";

const HOSTILE = `<img src=x onerror="window.pwned=1">`;
const marked: MarkedLine = {
  line: 2,
  severity: "error",
  culprit: true,
  marks: [
    {
      rule: HOSTILE,
      name: HOSTILE,
      severity: HOSTILE,
      message: `${HOSTILE} \`${HOSTILE}\``,
      cell: "In [1]",
      cell_id: "c",
      line: 2,
      fix: HOSTILE,
    },
  ],
};

function editor(doc: string): EditorView {
  return new EditorView({ state: EditorState.create({ doc }), parent: document.body });
}

test("what a finding says is text, whatever it contains", () => {
  const made = tip(marked);
  expect(made.querySelector("img")).toBeNull();
  expect(made.textContent).toContain(HOSTILE);
  expect(made.querySelector("code")!.textContent).toBe(HOSTILE);
});

test("marks stand on their lines, not beyond the end, and all go with the first edit", () => {
  const view = editor("a = 1\n  b = 2  \nc = 3");
  show(view, [marked, { ...marked, line: 9 }]);
  expect(shown(view)).toHaveLength(1);
  expect(view.dom.querySelector(".agi-squiggle")!.textContent).toBe("b = 2");
  view.dispatch({ changes: { from: 0, insert: "x" } });
  expect(shown(view)).toEqual([]);
  expect(view.dom.querySelector(".agi-squiggle")).toBeNull();
});

test("an editor without marks is left as it is", () => {
  const view = editor("a = 1");
  const before = view.state;
  show(view, []);
  expect(view.state).toBe(before);
});

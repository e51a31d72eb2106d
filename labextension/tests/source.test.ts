// @vitest-environment jsdom
import { expect, test } from "vitest";
import { source } from "../src/view/dom";

const LINE = 'optimizer.load_state_dict(checkpoint["optimizer_state_dict"], lr=0.5)';

/** The text between the places where a line may go on below. */
const pieces = (element: Element) => element.innerHTML.replace(/<\/?mark>/g, "").split("<wbr>");

test("a long line of source may break after a bracket and before an attribute, not in a name or a number", () => {
  expect(pieces(source(LINE))).toEqual([
    "optimizer",
    ".load_state_dict(",
    "checkpoint[",
    '"optimizer_state_dict"], lr=0.5)',
  ]);
});

test("what is marked stays marked, and copied text has no breaks in it", () => {
  const made = source(LINE, 'checkpoint["optimizer_state_dict"]');
  expect(made.querySelector("mark")?.textContent).toBe('checkpoint["optimizer_state_dict"]');
  expect(made.textContent).toBe(LINE);
});

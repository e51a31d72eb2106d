import { expect, test } from "vitest";
import { patchBox } from "../src/view/finding_body";
import type { FindingView } from "../src/wire";

const finding: FindingView = {
  rule: "AG101",
  name: "detached",
  severity: "warning",
  message: "It is cut.",
};

test("where there is no edit it is said why", () => {
  const unedited = "the line is in a library (`torch/x.py`)";
  expect(patchBox({ ...finding, unedited })!.textContent).toBe(
    "No edit: the line is in a library (torch/x.py)",
  );
  expect(patchBox(finding)).toBeNull();
});

test("below an edit stands what a trial of it showed", () => {
  const changes = ["-a.detach()", "+a"];
  const said = (box: HTMLElement) => box.querySelectorAll("p.agi-quiet");
  expect(said(patchBox({ ...finding, changes })!)).toHaveLength(1);
  const [, tried] = said(patchBox({ ...finding, changes, tried: "tried: cured" })!);
  expect(tried!.textContent).toBe("Edit tried: cured");
});

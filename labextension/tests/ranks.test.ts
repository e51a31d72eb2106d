import { expect, test } from "vitest";
import { show } from "./fake";
import { payload } from "./fixtures";

const switches = (el: HTMLElement) => [
  ...el.querySelectorAll<HTMLButtonElement>("[aria-label=Ranks] button"),
];
const open = (el: HTMLElement, name: string): void => {
  const tabs = [...el.querySelectorAll<HTMLElement>("[role=tab]")];
  tabs.find((tab) => tab.firstChild!.textContent === name)!.click();
};

test("a single process has no switch and no tab of ranks", () => {
  const { el } = show("broken");
  expect(switches(el)).toEqual([]);
  expect(el.textContent).not.toContain("Ranks");
});

test("each rank has a switch with its gravest finding; that of the first finding is shown", () => {
  const { el } = show("ranks");
  expect(switches(el).map((one) => one.textContent)).toEqual(["0", "1 !", "2", "3"]);
  expect(switches(el).map((one) => one.getAttribute("aria-pressed"))).toEqual([
    "false",
    "true",
    "false",
    "false",
  ]);
  expect(switches(el)[1]!.title).toBe("rank 1: 1 finding · waits in barrier train.py:8");
  expect(switches(el).map((one) => one.disabled)).toEqual([false, false, false, true]);
  expect(el.querySelector(".agi-answer-title")!.textContent).toContain("on rank 1");
});

test("a rank that is chosen is asked of Python, and shown under the same tab and finding", () => {
  const { el, model } = show("ranks");
  open(el, "Timeline");
  switches(el)[0]!.click();
  expect(model.sent).toContainEqual({ command: "rank", rank: 0 });
  const { text, buffer } = payload("rank0");
  model.set("buffer", buffer);
  model.set("payload", text);
  expect(switches(el)[0]!.getAttribute("aria-pressed")).toBe("true");
  expect(document.activeElement).toBe(switches(el)[0]);
  expect(el.querySelector("[role=tab][aria-selected=true]")!.textContent).toBe("Timeline");
  expect(el.querySelector(".agi-answer-title")!.textContent).toContain("on rank 1");
});

test("what another rank found selects nothing in the graph of this one", () => {
  const { el, model, view } = show("ranks");
  expect(view.select).toHaveBeenCalled();
  view.select.mockClear();
  const { text, buffer } = payload("rank0");
  model.set("buffer", buffer);
  model.set("payload", text);
  expect(view.select).not.toHaveBeenCalled();
  open(el, "Findings");
  expect(el.querySelector(".agi-show")).toBeNull();
});

test("the tab has what differs, a lane for each way that ranks took, a column for each kind of rank", () => {
  const { el, text } = show("ranks");
  open(el, "Ranks");
  expect(text("li.agi-apart").join()).toContain("lr: 0.1 on rank 0, 0.2 on rank 1");
  const rows = [...el.querySelectorAll("[aria-label='Timeline by rank'] tr")];
  expect(rows.map((row) => row.firstChild!.textContent)).toEqual([
    "ranks 0, 2",
    "rank 1",
    "rank 3",
  ]);
  const apart = [...rows[1]!.querySelectorAll(".agi-apart")].map((mark) => mark.textContent);
  expect(apart).toEqual(["waits in barrier train.py:8"]);
  expect(rows[0]!.querySelectorAll(".agi-mark:not(.agi-apart)")).toHaveLength(1);
  const heads = [...el.querySelectorAll("[aria-label='Placement by rank'] thead tr > *")];
  expect(heads.map((head) => head.textContent)).toEqual(
    expect.arrayContaining(["parameter", "ranks 0, 2, each (cpu)", "rank 1 (cpu)"]),
  );
});

import { afterEach, expect, test, vi } from "vitest";
import { LISTENS, REVEAL, revealFrom, type Target } from "../src/state/reveal";
import { named, nodeOf, show } from "./fake";

const target: Target = { cell: "In [3]", cellId: "", filename: "", line: 2, source: "b = 2" };
const file: Target = { ...target, cell: "", filename: "train.py" };

/** A notebook as JupyterLab draws it, with the widget under its last cell. */
function notebook(): HTMLElement {
  document.body.innerHTML = `<div class="jp-Notebook">
    <div class="jp-Cell" id="first"><div class="jp-InputPrompt">[3]:</div>
      <div class="cm-line">a = 1</div><div class="cm-line">b = 2</div></div>
    <div class="jp-Cell"><div class="jp-InputPrompt">[4]:</div><div id="widget"></div></div></div>`;
  return document.getElementById("widget")!;
}

afterEach(() => document.documentElement.removeAttribute(LISTENS));

test("the host is asked first, with the cell's id", () => {
  const el = notebook();
  const heard = vi.fn((event: Event) => event.preventDefault());
  document.addEventListener(REVEAL, heard, { once: true });
  expect(revealFrom(el, () => ({ "In [3]": "abc" })).go(target)).toBe("");
  expect((heard.mock.calls[0]![0] as CustomEvent<Target>).detail).toEqual({
    ...target,
    cellId: "abc",
  });
});

test("where no host answers, the line of the cell with that prompt comes into view", () => {
  const el = notebook();
  const scrolled = vi.fn();
  const line = document.querySelectorAll<HTMLElement>("#first .cm-line")[1]!;
  line.scrollIntoView = scrolled;
  expect(revealFrom(el, () => ({})).go(target)).toBe("");
  expect(scrolled).toHaveBeenCalledOnce();
});

test("what cannot be found is said", () => {
  const reveal = revealFrom(notebook(), () => ({}));
  expect(reveal.go({ ...target, cell: "In [33]" })).toBe("In [33] is not in this page");
  expect(reveal.go(file)).toBe("nothing here opens train.py");
});

test("files can be opened only where a host listens", () => {
  const reveal = revealFrom(notebook(), () => ({}));
  expect([reveal.can(target), reveal.can(file)]).toEqual([true, false]);
  document.documentElement.setAttribute(LISTENS, "");
  expect(reveal.can(file)).toBe(true);
});

test("lines of details and findings are buttons that go there", () => {
  document.documentElement.setAttribute(LISTENS, "");
  const fake = show("broken");
  const heard = vi.fn((event: Event) => event.preventDefault());
  fake.el.addEventListener(REVEAL, heard);
  fake.pick(nodeOf("broken", (name) => name === "sigmoid"));
  const [first] = [...fake.el.querySelectorAll<HTMLElement>(".agi-details button.agi-place")];
  first!.click();
  const { detail } = heard.mock.calls[0]![0] as CustomEvent<Target>;
  expect(detail.filename).toMatch(/programs\.py$/);
  expect(detail.source).toContain("torch.sigmoid");
  fake.tab("Findings").querySelector<HTMLElement>(".agi-culprit button.agi-goto")!.click();
  fake.el.querySelector<HTMLElement>(".agi-answer button.agi-goto")!.click();
  expect(heard).toHaveBeenCalledTimes(3);
  const [inTheList, inTheAnswer] = heard.mock.calls
    .slice(1)
    .map(([e]) => (e as CustomEvent<Target>).detail);
  expect(inTheAnswer).toEqual(inTheList);
  expect(inTheAnswer!.source).toContain("hidden.add_(1.0)");
  expect(fake.text("[role=status]")[0]).toMatch(/^went to programs\.py:\d+$/);
});

test("the norm of a gradient is a fact of its parameter", () => {
  const fake = show("attached");
  const weight = fake.tab("Optimizer");
  named(weight, "encoder.weight").click();
  expect(fake.text(".agi-remark")[0]).toMatch(/^gradient norm [\d.]+ after backward 1$/);
});

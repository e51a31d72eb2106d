import { expect, test, vi } from "vitest";
import type { CreateGraphView } from "../src/model/graph_view";
import { showSaved } from "../src/saved";
import { named } from "./fake";
import { payload } from "./fixtures";

const create = vi.fn(() => ({
  ...Object.fromEntries(
    ["select", "expandTo", "expandAll", "onlyProblems", "filter", "greyAfter", "path", "fit"].map(
      (name) => [name, vi.fn()],
    ),
  ),
  search: vi.fn(() => []),
  svg: vi.fn(() => "<svg/>"),
  destroy: vi.fn(),
})) as unknown as CreateGraphView;

function host(): HTMLElement {
  const made = document.createElement("div");
  document.body.replaceChildren(made);
  return made;
}

test("a short capture says so, counts the whole, and keeps its placement", () => {
  const el = host();
  showSaved(el, JSON.parse(payload("short").text), create);
  const header = el.querySelector(".agi-header")!.textContent!;
  expect(header).toContain("saved in short");
  expect(header).toMatch(/1,20\d ops/);
  expect(header).not.toMatch(/\d ms/);
  named(el, "Timeline").click();
  expect(el.textContent).toContain("Run the cell again");
  named(el, "Optimizer").click();
  expect(el.textContent).toContain("the first 400 of 1,600 parameters");
});

test("without a kernel only pictures can be exported", () => {
  const el = host();
  showSaved(el, JSON.parse(payload("broken").text), create);
  const menu = named(el, "Export").parentElement!;
  const items = [...menu.querySelectorAll(".agi-menu-items button")].map(
    (item) => item.textContent,
  );
  expect(items).toEqual(["SVG", "PNG"]);
});

test("what is no capture is refused in one line, and taken away again", () => {
  for (const wrong of [null, [], {}, "text", { wire: 99 }, { wire: 1 }]) {
    const el = host();
    const away = showSaved(el, wrong, create);
    expect(el.querySelectorAll("[role=alert]")).toHaveLength(1);
    expect(el.textContent).toMatch(/^autograd_inspector: this (is no|capture)/);
    away();
    expect(el.childNodes).toHaveLength(0);
  }
});

/** The tree beside the picture: what it says, how keys walk it, and that size does not matter. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CaptureGraph } from "../src/model/graph";
import type { GraphView } from "../src/model/graph_view";
import { createGraphView } from "../src/view/graph";
import { generated, real } from "./layout/graphs";

let host: HTMLElement;
let view: GraphView;
const onSelect = vi.fn();

function open(graph: CaptureGraph): HTMLElement {
  view = createGraphView(host, graph, { onSelect });
  return host.querySelector<HTMLElement>("[role=tree]")!;
}

const rows = (): HTMLElement[] => [...host.querySelectorAll<HTMLElement>("[role=treeitem]")];
const active = (): HTMLElement => {
  const tree = host.querySelector("[role=tree]")!;
  return document.getElementById(tree.getAttribute("aria-activedescendant")!)!;
};
const press = (key: string): unknown =>
  host
    .querySelector("[role=tree]")!
    .dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

beforeEach(() => {
  host = document.createElement("div");
  document.body.append(host);
  onSelect.mockReset();
});

afterEach(() => {
  view.destroy();
  host.remove();
});

test("every row is a tree item with its level, its place and what a box says", () => {
  const tree = open(real("severed"));
  expect(tree.getAttribute("aria-label")).toBe("Outline of the graph");
  expect(rows().length).toBeGreaterThan(5);
  for (const row of rows()) {
    expect(Number(row.getAttribute("aria-level"))).toBeGreaterThan(0);
    expect(Number(row.getAttribute("aria-posinset"))).toBeLessThanOrEqual(
      Number(row.getAttribute("aria-setsize")),
    );
    const [title] = row.querySelector(".agi-outline-title")!.textContent!.split(",");
    expect(row.getAttribute("aria-label")).toContain(title);
  }
  const warned = rows().filter((row) => row.getAttribute("aria-label")!.includes("warning"));
  expect(warned.length).toBeGreaterThan(0);
  expect(warned[0]!.querySelector(".agi-badge.agi-warning")).not.toBeNull();
});

test("arrows, Home and End walk the rows, open and close them", () => {
  open(real("gpt2"));
  press("Home");
  expect(active()).toBe(rows()[0]);
  press("ArrowDown");
  expect(active()).toBe(rows()[1]);
  press("End");
  const last = active();
  press("ArrowDown");
  expect(active().id).toBe(last.id);
  press("Home");
  while (active().getAttribute("aria-expanded") !== "false") press("ArrowDown");
  const { id } = active();
  const before = rows().length;
  press("ArrowRight");
  expect(active().id).toBe(id);
  expect(active().getAttribute("aria-expanded")).toBe("true");
  expect(rows().length).toBeGreaterThan(before);
  press("ArrowRight");
  expect(active().id).not.toBe(id);
  press("ArrowLeft");
  expect(active().id).toBe(id);
  press("ArrowLeft");
  expect(active().getAttribute("aria-expanded")).toBe("false");
});

test("Enter selects the row's node, in the picture too, though it was folded away there", () => {
  open(real("gpt2"));
  press("Home");
  for (let n = 0; n < 60 && active().getAttribute("aria-level") !== "5"; n++) {
    if (active().getAttribute("aria-expanded") === "false") press("ArrowRight");
    press("ArrowDown");
  }
  while (active().hasAttribute("aria-expanded")) press("ArrowDown");
  press("Enter");
  const id = onSelect.mock.lastCall![0];
  expect(host.querySelector(`[data-node="${id}"]`)!.getAttribute("aria-pressed")).toBe("true");
  expect(active().getAttribute("aria-selected")).toBe("true");
});

test("what is selected elsewhere is opened and selected in the outline", () => {
  const graph = real("gpt2");
  open(graph);
  const inner = graph.nodes.find((n) => n.path === "transformer.h.7.attn" && n.kind === "op")!;
  view.select([inner.id], { focus: true });
  expect(active().getAttribute("aria-selected")).toBe("true");
  expect(active().getAttribute("aria-label")).toContain(inner.path);
});

test("of a graph of 50,000 nodes only the rows in sight exist, and a key goes quickly", {
  timeout: 60_000,
}, () => {
  open(generated(600, 80));
  press("End");
  const before = performance.now();
  for (let n = 0; n < 20; n++) press("ArrowUp");
  expect((performance.now() - before) / 20).toBeLessThan(200);
  expect(rows().length).toBeLessThan(80);
});

/** The graph in a page: what can be reached, said, opened, marked and exported. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CaptureGraph, Severity } from "../src/model/graph";
import type { GraphView } from "../src/model/graph_view";
import { createGraphView } from "../src/view/graph";
import { BADGES } from "../src/view/graph/badge";
import { edge, node, real } from "./layout/graphs";

let host: HTMLElement;
let view: GraphView;
const onSelect = vi.fn();

function open(graph: CaptureGraph): void {
  view = createGraphView(host, graph, { onSelect });
}

const all = (query: string): Element[] => [...host.querySelectorAll(query)];
const boxes = (): Element[] => all("[data-node]");
const named = (text: string): Element => boxes().find((box) => box.textContent!.includes(text))!;
const labels = (): string[] => boxes().map((box) => box.getAttribute("aria-label")!);
const click = (target: Element, type = "click"): unknown =>
  target.dispatchEvent(new MouseEvent(type, { bubbles: true }));
const press = (key: string): unknown =>
  document.activeElement!.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
  );

beforeEach(() => {
  host = document.createElement("div");
  document.body.append(host);
  onSelect.mockReset();
});

afterEach(() => {
  view.destroy();
  host.remove();
});

test("every visible box is a named button, and one of them is the tab stop", () => {
  open(real("severed"));
  expect(boxes().length).toBeGreaterThanOrEqual(10);
  for (const box of boxes()) {
    expect(box.getAttribute("role")).toBe("button");
    expect(box.getAttribute("aria-label")).not.toBe("");
    expect(box.getAttribute("aria-pressed")).toBe("false");
  }
  expect(all('[data-node][tabindex="0"]')).toHaveLength(1);
});

test("a click chooses a node and tells its id, one on the background lets go", () => {
  open(real("version"));
  click(named("sigmoid"));
  const id = Number(named("sigmoid").getAttribute("data-node"));
  expect(onSelect).toHaveBeenLastCalledWith(id);
  expect(named("sigmoid").getAttribute("aria-pressed")).toBe("true");
  click(all(".agi-graph-view")[0]!);
  expect(onSelect).toHaveBeenLastCalledWith(null);
});

test("the toggle opens a box and closes it again", () => {
  open(real("severed"));
  view.expandTo(2);
  expect(named("encoder").getAttribute("aria-expanded")).toBe("false");
  click(named("encoder").querySelector(".agi-toggle rect")!);
  expect(named("encoder").getAttribute("aria-expanded")).toBe("true");
  expect(labels().join()).toContain("ReLU");
  click(named("encoder").querySelector(".agi-toggle rect")!);
  expect(named("encoder").getAttribute("aria-expanded")).toBe("false");
});

test("arrow keys walk along the wires, Enter opens, Escape closes", () => {
  open(real("severed"));
  view.expandTo(2);
  click(named("encoder"));
  press("ArrowUp");
  expect(document.activeElement!.getAttribute("aria-label")).toContain("randn");
  press("ArrowDown");
  expect(document.activeElement!.textContent).not.toContain("randn");
  click(named("encoder"));
  press("Enter");
  expect(named("encoder").getAttribute("aria-expanded")).toBe("true");
  press("Escape");
  expect(named("encoder").getAttribute("aria-expanded")).toBe("false");
});

test("from everywhere the arrow keys reach every box", () => {
  open(real("severed"));
  view.expandTo(2);
  view.fit();
  const reached = new Set<string>();
  const queue = [boxes()[0]!.getAttribute("data-item")!];
  while (queue.length > 0) {
    const id = queue.pop()!;
    if (reached.has(id)) continue;
    reached.add(id);
    for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) {
      click(all(`[data-item="${id}"]`)[0]!);
      press(key);
      queue.push(document.activeElement!.getAttribute("data-item")!);
    }
  }
  expect(reached.size).toBe(boxes().length);
});

test("cuts are drawn with their cause, and dashed after it", () => {
  open(real("severed"));
  view.fit();
  const causes = all("[aria-label^='gradient is cut']").map((cut) => cut.textContent);
  expect(causes.join()).toMatch(/detached.*non-differentiable|non-differentiable.*detached/);
  expect(all(".agi-wire-severed .agi-way").length).toBeGreaterThan(0);
});

/** a -> b -> c, where a finding of that severity names b. */
function found(severity: Severity): CaptureGraph {
  return {
    nodes: [node(0, { name: "a" }), node(1, { name: "b", findings: [0] }), node(2, { name: "c" })],
    edges: [edge(0, 1), edge(1, 2)],
    calls: [],
    findings: [{ rule: "AG104", name: "non-differentiable-op", severity }],
    models: [],
  };
}

test.each([
  ["error", "error"],
  ["warning", "warning"],
  ["info", "worth seeing"],
] as const)("a finding of severity %s is marked as such, and named", (severity, meaning) => {
  open(found(severity));
  const marks = all(".agi-item .agi-badge, .agi-legend .agi-badge, .agi-outline .agi-badge");
  expect(marks).toHaveLength(3);
  for (const one of marks) expect(one.classList.contains(`agi-${severity}`)).toBe(true);
  expect(named("AG104").querySelectorAll(`.agi-badge.agi-${severity}`)).toHaveLength(1);
  expect(named("AG104").getAttribute("aria-label")).toContain(`, ${meaning}, `);
  expect(all(".agi-legend")[0]!.textContent).toContain(meaning);
});

test("the marks of severities differ in shape and sign, not only in colour", () => {
  const drawn = (["error", "warning", "info"] as const).map((severity) => BADGES[severity]);
  expect(new Set(drawn.map(({ shape }) => shape)).size).toBe(3);
  expect(new Set(drawn.map(({ sign }) => sign)).size).toBe(3);
});

test("a label says what is written in its box, in the same order", () => {
  open(real("version"));
  view.expandAll();
  for (const box of boxes()) {
    const written = [...box.querySelectorAll("text")]
      .map((text) => text.textContent!)
      .filter(Boolean);
    expect(box.getAttribute("aria-label")).toContain(written.join(", "));
  }
});

test("regions are shaded, and the legend says of what, and of nothing else", () => {
  open(real("severed"));
  expect(all(".agi-region").length).toBeGreaterThan(0);
  const legend = all(".agi-legend")[0]!.textContent!;
  expect(legend).toContain("under no_grad");
  expect(legend).toContain("optimizer step");
  expect(legend).not.toContain("buffer");
});

test("a node inside a closed box is revealed when it is selected with focus", () => {
  const graph = real("gpt2");
  open(graph);
  const inner = graph.nodes.find((n) => n.path === "transformer.h.7.attn" && n.kind === "op")!;
  expect(all(`[data-node="${inner.id}"]`)).toHaveLength(0);
  view.select([inner.id], { focus: true });
  expect(all(`[data-node="${inner.id}"]`)[0]!.getAttribute("aria-pressed")).toBe("true");
});

test("a closed box stands for what is selected inside it", () => {
  const graph = real("gpt2");
  open(graph);
  view.select([graph.nodes.find((n) => n.path === "transformer.h.7.attn")!.id]);
  expect(named("×12").getAttribute("aria-pressed")).toBe("true");
});

test("what a search found stands out, in closed boxes too", () => {
  const graph = real("gpt2");
  open(graph);
  view.match(graph.nodes.filter((n) => n.path.startsWith("transformer.h.3")).map((n) => n.id));
  const found = all(".agi-found").map((one) => one.textContent);
  expect(found.join()).toContain("×12");
  view.match([]);
  expect(all(".agi-found")).toEqual([]);
});

test("filters and the timeline dim what they are not about", () => {
  open(real("version"));
  view.expandAll();
  view.filter({ parameters: true });
  expect(named("sigmoid").classList.contains("agi-dim")).toBe(true);
  expect(named("weight").classList.contains("agi-dim")).toBe(false);
  view.filter({});
  expect(all(".agi-dim")).toEqual([]);
  view.greyAfter(2);
  expect(named("randn").classList.contains("agi-dim")).toBe(false);
  expect(named("mul_").classList.contains("agi-dim")).toBe(true);
  view.greyAfter(null);
  expect(all(".agi-dim")).toEqual([]);
});

test("the way of gradient goes from a node to the loss and to its parameters", () => {
  open(real("version"));
  view.expandAll();
  view.path(Number(named("sigmoid").getAttribute("data-node")));
  for (const text of ["weight", "bias", "linear", "pow", "sum"]) {
    expect(named(text).classList.contains("agi-dim")).toBe(false);
  }
  for (const text of ["randn", "mul_"])
    expect(named(text).classList.contains("agi-dim")).toBe(true);
  expect(all(".agi-hot").length).toBeGreaterThan(3);
  view.path(null);
  expect(all(".agi-hot, .agi-dim")).toEqual([]);
});

test("depth, all, and only the problem", () => {
  open(real("severed"));
  view.expandTo(1);
  const few = boxes().length;
  view.expandAll();
  expect(boxes().length).toBeGreaterThan(few);
});

test("only the problem is a small picture of its own: what matters, and one box for all between", () => {
  open(real("severed"));
  const page = (): HTMLElement => host.querySelector<HTMLElement>(".agi-graph-page:not([hidden])")!;
  const whole = page();
  const inPage = (): Element[] => [...page().querySelectorAll("[data-node]")];
  view.filter({ problems: true });
  expect(page()).not.toBe(whole);
  expect(inPage().length).toBeLessThan(12);
  const texts = inPage().map((box) => box.textContent!);
  expect(texts.some((text) => text.includes("detach"))).toBe(true);
  const standIn = inPage().find((box) => box.textContent!.includes("ops …"))!;
  onSelect.mockReset();
  click(standIn);
  expect(onSelect).toHaveBeenLastCalledWith(null);
  view.filter({ problems: false });
  expect(page()).toBe(whole);
});

test("the small picture is marked as the whole one is, whenever it is opened", () => {
  open(real("severed"));
  const detach = Number(named("detach").getAttribute("data-node"));
  const small = (): SVGElement =>
    host.querySelector(`.agi-graph-page:last-child [data-node="${detach}"]`)!;
  view.select([detach]);
  view.match([detach]);
  const values = new Float64Array(real("severed").nodes.length);
  values[detach] = 8;
  expect(view.heat(values)).toBe(8);
  view.filter({ problems: true });
  expect(small().getAttribute("aria-pressed")).toBe("true");
  expect(small().classList.contains("agi-found")).toBe(true);
  expect(small().classList.contains("agi-heated")).toBe(true);
  view.match([]);
  expect(small().classList.contains("agi-found")).toBe(false);
});

test("boxes are coloured by how much is in them, the one with the most wholly", () => {
  open(real("version"));
  const sigmoid = Number(named("sigmoid").getAttribute("data-node"));
  const values = new Float64Array(real("version").nodes.length);
  values[sigmoid] = 400;
  expect(view.heat(values)).toBeGreaterThanOrEqual(400);
  const heat = (): string => (named("sigmoid") as SVGElement).style.getPropertyValue("--heat");
  expect(named("sigmoid").classList.contains("agi-heated")).toBe(true);
  expect(heat()).toBe("100%");
  expect(all(".agi-heated").length).toBeGreaterThan(1);
  view.heat(null);
  expect(all(".agi-heated")).toEqual([]);
});

test("the exported picture stands alone: no style sheet, no script, no handles of the page", () => {
  open(real("severed"));
  const text = view.svg("In [3]", "torch 2.13.0");
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  expect(parsed.querySelector("parsererror")).toBeNull();
  expect(parsed.documentElement.getAttribute("viewBox")).toMatch(/^0 0 \d+ \d+$/);
  expect(text).not.toMatch(/var\(|class=|tabindex/);
  expect(text).toContain("detached");
  expect(parsed.querySelector("title")!.textContent).toBe("In [3], torch 2.13.0");
  expect(text).toContain("gradient flows back");
  expect(text).toContain("under no_grad");
  expect(host.querySelector(".agi-print")).toBeNull();
});

test("hostile names are text", () => {
  const name = `<img src=x onerror=alert(1)></text><script>alert(1)</script>`;
  open({
    nodes: [node(0, { name }), node(1, { name: "b" })],
    edges: [edge(0, 1)],
    calls: [],
    findings: [],
    models: [],
  });
  expect(all("img, script")).toEqual([]);
  expect(host.textContent).toContain("<img src=x");
});

/** Ops in a row, each of a name of its own: nothing folds into repetitions. */
function many(count: number): CaptureGraph {
  const ops = Array.from({ length: count }, (_, n) => node(n, { name: `op${n}`, op: n }));
  return {
    nodes: ops,
    edges: ops.slice(1).map(({ id }) => edge(id - 1, id)),
    calls: [],
    findings: [],
    models: [],
  };
}
const graphRoot = (): Element => all(".agi-graph")[0]!;
const done = (): Promise<void> =>
  vi.waitFor(() => expect(graphRoot().getAttribute("aria-busy")).toBe("false"), 10_000);

test("a large graph is expanded in slices: the page answers meanwhile, and says what it does", async () => {
  open(many(3_000));
  const before = labels();
  view.expandAll();
  expect(graphRoot().getAttribute("aria-busy")).toBe("true");
  expect(all("[role=status]")[0]!.textContent).toBe("Laying out 3,000 boxes …");
  expect(labels()).toEqual(before);
  await done();
  expect(all("[role=status]")[0]!.textContent).toBe("");
  expect(labels()).not.toEqual(before);
});

test("what is to fit while it is laid out fits when it is there", async () => {
  open(many(3_000));
  const sight = () =>
    all(".agi-minimap rect.agi-sight, .agi-svg > g").map((each) => each.outerHTML.slice(0, 200));
  view.expandAll();
  view.fit();
  await done();
  const first = sight();
  expect(first.length).toBeGreaterThan(0);
  view.fit();
  expect(sight()).toEqual(first);
});

test("what is to fit in the moment between the new picture and the end of the work fits too", async () => {
  open(many(3_000));
  const sight = () =>
    all(".agi-minimap rect.agi-sight, .agi-svg > g").map((each) => each.outerHTML.slice(0, 200));
  view.expandAll();
  const busy = await new Promise<string | null>((drawn) => {
    const observer = new MutationObserver(() => {
      observer.disconnect();
      const at = graphRoot().getAttribute("aria-busy");
      view.fit();
      drawn(at);
    });
    observer.observe(all(".agi-svg")[0]!, { childList: true, subtree: true });
  });
  expect(busy).toBe("true");
  await done();
  const first = sight();
  view.fit();
  expect(sight()).toEqual(first);
});

test("of what was asked for only the last is drawn", async () => {
  open(many(3_000));
  view.expandAll();
  view.expandTo(1);
  const before = labels();
  expect(graphRoot().getAttribute("aria-busy")).toBe("false");
  await new Promise((next) => setTimeout(next, 200));
  expect(labels()).toEqual(before);
});

test("a graph that is taken away while it is laid out is gone", async () => {
  open(many(3_000));
  view.expandAll();
  view.destroy();
  await new Promise((next) => setTimeout(next, 200));
  expect(all(".agi-graph")).toEqual([]);
});

test("an empty graph is shown, and all its doors work", () => {
  open({ nodes: [], edges: [], calls: [], findings: [], models: [] });
  view.expandAll();
  view.expandTo(2);
  view.filter({ problems: true });
  view.path(null);
  view.fit();
  expect(view.svg()).toContain("<svg");
});

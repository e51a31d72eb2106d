/** Scopes, folding, lifting, sharing. */

import { expect, test } from "vitest";
import { Layout } from "../../src/layout";
import type { Box, Tree } from "../../src/layout/box";
import { lift } from "../../src/layout/lift";
import { Names } from "../../src/layout/names";
import { foremost } from "../../src/layout/problems";
import { buildTree } from "../../src/layout/tree";
import { everything, opening, toDepth } from "../../src/layout/visible";
import { atOnce } from "../../src/layout/work";
import type { CaptureGraph, GraphNode } from "../../src/model/graph";
import { call, edge, generated, node, real } from "./graphs";

const boxes = (graph: CaptureGraph, kind: Box["kind"]): Box[] =>
  buildTree(graph).boxes.filter((box) => box.kind === kind);

/** input -> a (in inner, in outer) -> b (in other) -> loss, with a weight that a and b read. */
function nested(): CaptureGraph {
  return {
    nodes: [
      node(0, { kind: "input" }),
      node(1, { kind: "parameter", name: "weight", tracked: true }),
      node(2, { name: "a", call: 2, op: 0 }),
      node(3, { name: "b", call: 3, op: 1 }),
      node(4, { name: "loss", op: 2, root: true }),
    ],
    edges: [edge(0, 2, { kind: "data" }), edge(1, 2), edge(1, 3), edge(2, 3), edge(3, 4)],
    calls: [
      call(0, -1, "", "Model"),
      call(1, 0, "outer", "Outer"),
      call(2, 1, "outer.inner", "Inner"),
      call(3, 0, "other", "Other"),
      call(4, 0, "unused", "Dropout"),
    ],
    findings: [],
    models: ["model"],
  };
}

test("boxes follow module calls, and calls in which nothing ran are not drawn", () => {
  expect(boxes(nested(), "module").map((box) => box.call)).toEqual([0, 1, 2, 3]);
});

test("a module that is called twice is two boxes", () => {
  const graph = nested();
  graph.calls.push(call(5, 0, "other", "Other", 2));
  graph.nodes.push(node(5, { name: "b", call: 5, op: 3 }));
  expect(boxes(graph, "module").filter((box) => [3, 5].includes(box.call))).toHaveLength(2);
});

test("a parameter stands in the deepest box that holds all its readers, an input outside", () => {
  const { boxesOf } = buildTree(nested());
  expect(boxesOf.get(1)![0]!.parent!.call).toBe(0);
  expect(boxesOf.get(0)![0]!.parent!.kind).toBe("root");
});

test("a parameter is drawn in each outermost call that reads it", () => {
  const graph = nested();
  graph.calls.push(call(5, -1, "", "Model", 2));
  graph.nodes.push(node(5, { name: "a", call: 5, op: 3 }));
  graph.edges.push(edge(1, 5));
  expect(
    buildTree(graph)
      .boxesOf.get(1)!
      .map((box) => box.parent!.call),
  ).toEqual([0, 5]);
});

test("an edge crosses at the lowest box that holds both its ends", () => {
  const tree = buildTree(nested());
  const scopes = atOnce(lift(tree, everything(tree)));
  const of = (id: number) =>
    scopes.get(tree.boxes.find((b) => b.kind === "module" && b.call === id)!)!;
  const [a] = tree.boxesOf.get(2)!;
  expect(of(2).outs).toEqual([a!.id]);
  expect(of(1).outs).toEqual([a!.id]);
  expect(of(3).ins).toContain(a!.id);
  const { from, branches } = of(0).nets.get(a!.id)!;
  expect("box" in from && from.box.call).toBe(1);
  expect([...branches.values()].map((b) => "box" in b.end && b.end.box.call)).toEqual([3]);
});

test("a wire says the shape of what leaves a closed box, unless there are several", () => {
  const graph = nested();
  const out = graph.edges.find((one) => one.source === 3)!;
  out.shape = "4×2";
  const shapes = (open: (tree: Tree) => Set<number>, drawn = graph) => {
    const layout = new Layout(drawn);
    return layout.scene(open(layout.tree)).wires.map((wire) => wire.shape);
  };
  expect(shapes((tree) => toDepth(tree, 0))).toEqual(["", "4×2"]);
  expect(shapes(everything)).not.toContain("4×2");
  const logged: CaptureGraph = {
    ...graph,
    nodes: [...graph.nodes, node(5, { name: "log", op: 3 })],
    edges: [...graph.edges, edge(2, 5, { kind: "data", shape: "1" })],
  };
  expect(shapes((tree) => toDepth(tree, 0), logged)).not.toContain("4×2");
});

test("edges within a closed box are not drawn, those of equal ends once", () => {
  const tree = buildTree(nested());
  const scopes = atOnce(lift(tree, toDepth(tree, 1)));
  const wires = [...scopes.values()].flatMap((scope) => [...scope.nets.values()]);
  expect(wires).toHaveLength(2);
});

test("twelve equal blocks fold into one box, four do not", () => {
  expect(boxes(real("gpt2"), "repeat").map((box) => box.children.length)).toEqual([12]);
  expect(boxes(generated(4), "repeat").filter((box) => box.modules === 1)).toEqual([]);
});

test("a repeating row of ops folds into its units", () => {
  const units = boxes(real("chain"), "unit");
  expect(units).toHaveLength(40);
  expect(units[0]!.children.map((box) => box.node!.name)).toEqual(["matmul", "relu", "add"]);
});

test("ten thousand ops in a row still make few boxes", () => {
  const count = 10_000;
  const names = ["add", "mul", "sin", "cos", "exp", "log", "neg"];
  const graph: CaptureGraph = { nodes: [], edges: [], calls: [], findings: [], models: [] };
  for (let id = 0; id < count; id++) {
    graph.nodes.push(
      node(id, { name: names[(id * id * 31 + (id >> 3)) % 7]!, op: id, root: id === count - 1 }),
    );
    if (id > 0) graph.edges.push(edge(id - 1, id));
  }
  const tree = buildTree(graph);
  expect(Math.max(...tree.boxes.map((box) => box.children.length))).toBeLessThan(250);
  expect(new Set(tree.boxes.flatMap((box) => box.node?.id ?? []))).toHaveProperty("size", count);
});

test("every node is drawn, with all folded", () => {
  for (const name of ["gpt2", "t5", "resnet", "lstm", "severed"]) {
    const graph = real(name);
    const tree = buildTree(graph);
    const drawn = tree.boxes.flatMap((box) => (box.node ? [box.node.id] : []));
    expect([...new Set(drawn)].sort((a, b) => a - b)).toEqual(graph.nodes.map((n) => n.id));
  }
});

test("blocks of equal structure share one layout", () => {
  const layout = new Layout(generated(48));
  const open = everything(layout.tree);
  layout.scene(open);
  expect(open.size).toBeGreaterThan(200);
  expect(layout.memo.size).toBeLessThan(15);
});

test("a severed edge becomes a cut with its cause, once for each target", () => {
  const layout = new Layout(real("severed"));
  const cuts = layout.scene(everything(layout.tree)).items.flatMap((item) => item.cut ?? []);
  expect(cuts.map((cut) => cut.cause).sort()).toEqual(
    ["detached", "left torch", "no_grad", "no_grad", "non-differentiable"].sort(),
  );
  expect(
    cuts
      .filter((cut) => cut.severity)
      .map((cut) => cut.cause)
      .sort(),
  ).toEqual(["detached", "non-differentiable"]);
});

test("the way to the first finding is open from the start", () => {
  const { tree } = new Layout(real("severed"));
  const open = opening(tree);
  const found = tree.boxes.find((box) => box.node?.findings.includes(0))!;
  for (let at = found.parent; at; at = at.parent) expect(open.has(at.id)).toBe(true);
});

/** Three steps of a loop: a model of six layers is called, and its loss computed; all of them read two parameters. */
function threeSteps(): CaptureGraph {
  const graph: CaptureGraph = { nodes: [], edges: [], calls: [], findings: [], models: ["model"] };
  const add = (fields: Partial<GraphNode>): number =>
    graph.nodes.push(node(graph.nodes.length, fields)) - 1;
  const parameters = ["weight", "bias"].map((name) => add({ kind: "parameter", name }));
  for (let step = 0; step < 3; step++) {
    const model = graph.calls.push(call(graph.calls.length, -1, "", "Model", step + 1)) - 1;
    let before = -1;
    for (const name of ["linear", "relu", "norm", "linear", "relu", "pow", "mean"]) {
      const inside = name === "pow" || name === "mean" ? -1 : model;
      const op = add({ name, call: inside, op: graph.nodes.length, root: name === "mean" });
      if (before >= 0) graph.edges.push(edge(before, op));
      if (name === "pow") for (const read of parameters) graph.edges.push(edge(read, op));
      before = op;
    }
    add({ name: "SGD.step", kind: "step", op: graph.nodes.length });
  }
  return graph;
}

test("of three equal steps the first is open at the start, the others say which they are", () => {
  const { tree, labels } = new Layout(threeSteps());
  // A parameter that all of them read may stand before them.
  const leaf = (box: Box) => box.node?.kind === "parameter";
  const repeat = tree.boxes.find((box) => box.kind === "repeat")!;
  expect(repeat.children.filter(leaf)).toHaveLength(2);
  repeat.children.sort((a, b) => Number(leaf(b)) - Number(leaf(a)));
  const open = opening(tree);
  const units = tree.boxes.filter((box) => box.kind === "unit");
  expect(units.map((box) => open.has(box.id))).toEqual([true, false, false]);
  expect(units.map((box) => labels.of(box).lines[0]!.text)).toEqual(["1 of 3", "2 of 3", "3 of 3"]);
});

test("a finding in a later step opens that step as well", () => {
  const graph = threeSteps();
  graph.findings.push({ severity: "error", rule: "AG201" } as CaptureGraph["findings"][number]);
  graph.nodes.filter((each) => each.name === "norm")[2]!.findings.push(0);
  const { tree } = new Layout(graph);
  const open = opening(tree);
  const units = tree.boxes.filter((box) => box.kind === "unit");
  expect(units.map((box) => open.has(box.id))).toEqual([true, false, true]);
});

test("saved tensors that were modified say so in their box", () => {
  const { tree, labels } = new Layout(real("version"));
  const said = tree.boxes
    .filter((b) => b.node)
    .flatMap((b) => labels.of(b).lines.map((line) => line.text));
  expect(said).toContain("result: saved v0, now v2");
  expect(said).toContain("✕ backward failed here");
});

test("opening one box moves the others as a whole: those above it not at all against each other", () => {
  const layout = new Layout(real("gpt2"));
  const open = opening(layout.tree);
  const before = layout.scene(open);
  const block = layout.tree.boxes.find((box) => box.kind === "repeat")!;
  const after = layout.scene(new Set([...open, block.id]));
  const order = (scene: typeof before, ids: Set<number>): number[] =>
    scene.items
      .filter((i) => ids.has(i.id))
      .sort((a, b) => a.y - b.y || a.x - b.x)
      .map((i) => i.id);
  const common = new Set(
    before.items.filter((i) => i.box?.parent === block.parent).map((i) => i.id),
  );
  expect(order(after, common)).toEqual(order(before, common));
});

test("hostile names are spelled out and cut", () => {
  const graph = nested();
  graph.nodes[2]!.name = `</text><script>\u202e\u0000${"x".repeat(10_000)}`;
  const { tree, labels } = new Layout(graph);
  const [title] = labels.of(tree.boxesOf.get(2)![0]!).lines;
  expect(title!.text).toContain("\\u202e");
  expect(title!.text.length).toBeLessThan(60);
});

test("graphs of nothing, of one node, of leaves only and with a cycle are drawn", () => {
  const empty: CaptureGraph = { nodes: [], edges: [], calls: [], findings: [], models: [] };
  const one = { ...empty, nodes: [node(0)] };
  const leaves = { ...empty, nodes: [node(0, { kind: "input" }), node(1, { kind: "parameter" })] };
  const cycle = { ...empty, nodes: [node(0), node(1)], edges: [edge(0, 1), edge(1, 0)] };
  for (const graph of [empty, one, leaves, cycle]) {
    const layout = new Layout(graph);
    expect(layout.scene(opening(layout.tree)).items).toHaveLength(graph.nodes.length);
  }
});

test("a tensor goes by its name within the box of its module", () => {
  const graph = nested();
  graph.nodes[1]!.name = "model.outer.inner.weight";
  graph.edges = graph.edges.filter((each) => each.target !== 3);
  const deep = buildTree(graph);
  expect(new Names(deep).of(deep.boxesOf.get(1)![0]!)[0]).toBe("weight");
  const shared = buildTree({ ...graph, edges: [...graph.edges, edge(1, 3)] });
  expect(new Names(shared).of(shared.boxesOf.get(1)![0]!)[0]).toBe("outer.inner.weight");
});

test("a parameter is looked at where it is used, and where it is made if that is all", () => {
  const setup = { kind: "setup", parent: null } as Box;
  const made = { kind: "node", parent: setup } as Box;
  const used = { kind: "node", parent: null } as Box;
  expect(foremost([made, used])).toEqual([used]);
  expect(foremost([made])).toEqual([made]);
});

test("of what a loop does again on one line the first is shown, and of a parameter that is used again", () => {
  const at = (id: number, made: GraphNode): Box =>
    ({ id, kind: "node", parent: null, node: made }) as Box;
  const step = (id: number, site: number, name = "detach") => at(id, node(id, { site, name }));
  const [first, again, other] = [step(0, 7), step(1, 7), step(2, 7, "linear")];
  const weight = node(3, { kind: "parameter", site: -1 });
  const [here, there] = [at(4, weight), at(5, weight)];
  expect(foremost([first, again, other, here, there])).toEqual([first, other, here]);
});

test("what no gradient flows in stands beside what the picture is about, on its right", () => {
  const [made, filled, input, computed] = [node(0), node(1), node(2), node(3)];
  const edges = [edge(0, 1, { kind: "data" }), edge(2, 3, { kind: "gradient" })];
  const graph = {
    nodes: [made, filled, input, computed],
    edges,
    calls: [],
    findings: [],
    models: [],
  };
  const layout = new Layout(graph);
  const { items } = layout.scene(opening(layout.tree));
  const left = (id: number): number => items.find(({ box }) => box?.node?.id === id)!.x;
  expect(left(2)).toBeLessThan(left(0));
  expect(left(3)).toBeLessThan(left(1));
});

test("a module without a name goes by its class once, one of another model by its whole name", () => {
  const calls = [
    { ...call(0, -1, "", "Sequential"), root: 0 },
    { ...call(1, -1, "", "Sequential", 2), root: 0 },
    { ...call(2, 1, "layers.3", "Linear"), root: 1 },
  ];
  const nodes = [0, 1, 2].flatMap((at) =>
    [0, 1].map((n) => node(2 * at + n, { name: "relu", call: at, tracked: true })),
  );
  const edges = [edge(0, 1), edge(1, 2), edge(2, 3), edge(3, 4), edge(4, 5)];
  const graph: CaptureGraph = { nodes, edges, calls, findings: [], models: ["", "model"] };
  const tree = buildTree(graph);
  const names = new Names(tree);
  const boxOf = (id: number) => tree.boxes.find((box) => box.kind === "module" && box.call === id)!;
  expect(names.head(boxOf(0))).toEqual(["Sequential (call 1)", ""]);
  expect(names.of(boxOf(1))).toEqual(["Sequential (call 2)", "4 ops"]);
  expect(names.of(boxOf(2))[0]).toBe("model.layers.3");
});

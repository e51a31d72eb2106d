/** What checkpointing computes again is drawn on the module that computed it first. */

import { expect, test } from "vitest";
import type { Box } from "../../src/layout/box";
import { Names } from "../../src/layout/names";
import { recomputedIn } from "../../src/layout/recomputed";
import { remarksOf } from "../../src/layout/remarks";
import { buildTree } from "../../src/layout/tree";
import type { CaptureGraph } from "../../src/model/graph";
import { call, edge, node, real } from "./graphs";

const callOf = (box: Box): number => (box.kind === "module" ? box.call : callOf(box.parent!));

test("each op that a checkpoint computes again is the same op of forward", () => {
  const graph = real("checkpointed");
  const { twins } = recomputedIn(graph);
  const again = graph.nodes.filter((one) => one.recomputed);
  expect(again.length).toBeGreaterThan(20);
  for (const { id, name, path } of again) {
    expect(graph.nodes[twins.get(id)!]).toMatchObject({ name, path, recomputed: false });
  }
  expect(new Set(twins.values()).size).toBe(again.length);
});

test("a checkpointed model is drawn once, each of its blocks marked", () => {
  const tree = buildTree(real("checkpointed"));
  const names = new Names(tree);
  const blocks = tree.boxes.filter((box) =>
    /^blocks\.\d$/.test(tree.graph.calls[box.call]?.path ?? ""),
  );
  const drawn = blocks.filter((box) => box.kind === "module");
  expect(drawn.map((box) => names.of(box)[0])).toEqual(
    [0, 1, 2, 3, 4, 5].map((n) => `blocks.${n} ↻`),
  );
  const [model] = tree.root.children.filter((box) => box.kind === "module");
  expect(names.of(model!)[0]).toBe("model");
  expect(remarksOf(model!, tree).map(({ text }) => text)).toEqual(["↻ 24 of 32 ops"]);
  expect(drawn.flatMap((block) => remarksOf(block, tree))).toEqual([]);
  expect(tree.root.children.some((box) => box.kind === "apart")).toBe(false);
});

test("what forward did not record is drawn in the call that forward made, the checkpoint with it", () => {
  const graph = real("reentrant");
  const tree = buildTree(graph);
  const blockOf = (id: number) => graph.calls[callOf(tree.boxesOf.get(id)[0]!)]!;
  const again = graph.nodes.filter((one) => one.recomputed);
  const firstCalls = new Set(again.map(({ id }) => blockOf(id).nth));
  expect(firstCalls).toEqual(new Set([1]));
  const checkpoints = graph.nodes.filter((one) => one.kind === "function");
  expect(checkpoints.map(({ id }) => blockOf(id).path.slice(0, 8))).toEqual(
    [0, 1, 2, 3, 4, 5].map((n) => `blocks.${n}`),
  );
});

test("a selected op of backward is the box of the op that it repeats", () => {
  const graph = real("checkpointed");
  const { boxesOf } = buildTree(graph);
  for (const [again, first] of recomputedIn(graph).twins) {
    expect(boxesOf.get(again)).toEqual(boxesOf.get(first));
  }
});

test("what goes wrong in the repetition is seen on the op that it repeats", () => {
  const graph = real("checkpointed");
  const again = graph.nodes.find((one) => one.recomputed)!;
  again.failed = true;
  const tree = buildTree(graph);
  expect(tree.boxesOf.get(again.id)[0]!.troubles).toMatchObject({ failed: 1, worst: "error" });
});

test("an op of a hook is not taken for a repetition", () => {
  const nodes = [
    node(0, { kind: "input" }),
    node(1, { name: "mul", op: 0 }),
    node(2, { name: "sum", op: 1, root: true }),
    node(3, { name: "mul", op: 2, recomputed: true }),
  ];
  const graph: CaptureGraph = {
    nodes,
    edges: [edge(0, 1), edge(1, 2)],
    calls: [],
    findings: [],
    models: [],
  };
  const { twins, homes } = recomputedIn(graph);
  expect([...twins, ...homes]).toEqual([]);
  expect(buildTree(graph).boxesOf.get(3)[0]!.computedAgain).toBe(false);
});

test("what a custom Function computes in its backward is not taken for a repetition", () => {
  const graph: CaptureGraph = {
    nodes: [
      node(0, { name: "add", op: 0, call: 0 }),
      node(1, { name: "mul", op: 1, call: 0 }),
      node(2, { name: "Doubled", kind: "function", op: 2, call: 0 }),
      node(3, { name: "sum", op: 3, root: true }),
      node(4, { name: "mul", op: 4, recomputed: true }),
      node(5, { name: "sub", op: 5, recomputed: true }),
    ],
    edges: [edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3), edge(0, 4), edge(4, 5)],
    calls: [call(0, -1, "", "Net")],
    findings: [],
    models: ["net"],
  };
  const { boxesOf } = buildTree(graph);
  expect(boxesOf.get(4)[0]!.node!.id).toBe(4);
  expect([4, 5].map((id) => boxesOf.get(id)[0]!.computedAgain)).toEqual([false, false]);
});

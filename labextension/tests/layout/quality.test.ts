/** Real graphs and made ones stay readable, collapsed, opened by depth, and with everything open. */

import { describe, expect, test } from "vitest";
import { Layout } from "../../src/layout";
import { count, everything, opening, toDepth } from "../../src/layout/visible";
import { compact } from "../../src/model/compact";
import { generated, REAL, real } from "./graphs";
import { cramped, crossing, escaping, loose, overlapping, straying } from "./quality";

const GRAPHS = [
  ...REAL.map((name) => [name, real(name)] as const),
  ["made", generated(6)] as const,
];

describe.each(GRAPHS)("%s", (_, graph) => {
  const layout = new Layout(graph);
  const states = {
    opening: opening(layout.tree),
    "depth 1": toDepth(layout.tree, 1),
    "depth 3": toDepth(layout.tree, 3),
    everything: everything(layout.tree),
  };
  test.each(Object.entries(states))("%s", (_state, open) => {
    const scene = layout.scene(open);
    expect(overlapping(scene)).toEqual([]);
    expect(escaping(scene)).toEqual([]);
    expect(crossing(scene)).toEqual([]);
    expect(loose(scene)).toEqual([]);
    expect(straying(scene)).toEqual([]);
    expect(cramped(scene, layout)).toEqual([]);
  });

  test("no box shows more than a few hundred others", () => {
    expect(Math.max(...layout.tree.boxes.map((box) => box.children.length))).toBeLessThan(250);
  });

  test("the same graph gives the same picture", () => {
    const again = new Layout(graph);
    const said = (l: Layout): string =>
      JSON.stringify(l.scene(opening(l.tree)).items.map((i) => [i.id, i.x, i.y]));
    expect(said(again)).toBe(said(layout));
  });
});

test.each(["gpt2", "t5", "resnet", "chain", "lstm", "severed"])(
  "%s opens with 10 to 60 boxes",
  (name) => {
    const { tree } = new Layout(real(name));
    const boxes = count(tree, opening(tree));
    expect(boxes).toBeGreaterThanOrEqual(10);
    expect(boxes).toBeLessThanOrEqual(60);
  },
);

describe.each(GRAPHS)("only the problem of %s", (_, graph) => {
  const { nodes } = graph;
  const kept = [nodes[3]!, nodes[nodes.length >> 1]!, nodes.at(-2)!].map((node) => node.id);
  const { graph: small, members } = compact(graph, [...new Set(kept)]);

  test("is a picture of its own quality, with everything kept in it", () => {
    const layout = new Layout(small);
    const scene = layout.scene(everything(layout.tree));
    expect(overlapping(scene)).toEqual([]);
    expect(crossing(scene)).toEqual([]);
    expect(loose(scene)).toEqual([]);
    const drawn = new Set(small.nodes.map((node) => node.id));
    expect(kept.every((id) => drawn.has(id))).toBe(true);
    expect(small.nodes.length).toBeLessThanOrEqual(kept.length + members.size);
  });

  test("no way leads out of a stand-in and back into it", () => {
    const next = new Map<number, number[]>();
    for (const { source, target } of small.edges)
      next.set(source, [...(next.get(source) ?? []), target]);
    for (const start of members.keys()) {
      const met = new Set<number>();
      const stack = [...(next.get(start) ?? [])];
      for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
        expect(at).not.toBe(start);
        if (met.has(at)) continue;
        met.add(at);
        stack.push(...(next.get(at) ?? []));
      }
    }
  });
});

test("a large graph opens with few boxes", () => {
  const { tree } = new Layout(generated(200));
  expect(count(tree, opening(tree))).toBeLessThanOrEqual(60);
});

test("the questions have other answers for a spoiled picture", () => {
  const layout = new Layout(real("gpt2"));
  const scene = layout.scene(everything(layout.tree));
  for (const item of scene.items) item.x = (item.id % 7) * 40;
  for (const faults of [overlapping, escaping, crossing, loose, straying]) {
    expect(faults(scene).length).toBeGreaterThan(0);
  }
});

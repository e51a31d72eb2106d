/** Laying out in steps. */

import { expect, test } from "vitest";
import { Layout } from "../../src/layout";
import { everything } from "../../src/layout/visible";
import { inSlices } from "../../src/view/graph/slices";
import { real } from "./graphs";

test("in steps the same picture is made as at once", async () => {
  const at = (graph: ReturnType<typeof real>) => {
    const layout = new Layout(graph);
    return { layout, open: everything(layout.tree) };
  };
  const graph = real("gpt2");
  const [one, two] = [at(graph), at(graph)];
  const direct = one.layout.scene(one.open);
  const sliced = await inSlices(two.layout.making(two.open), new AbortController().signal);
  const plain = ({ items, wires }: typeof direct) => [
    items.map(({ id, x, y, width, height }) => [id, x, y, width, height]),
    wires.map((wire) => wire.strokes()),
  ];
  expect(plain(sliced!)).toEqual(plain(direct));
});

test("one box that is hard to lay out is itself laid out in steps", () => {
  const layout = new Layout(real("gpt2"));
  let steps = 0;
  for (const _ of layout.making(everything(layout.tree))) steps++;
  expect(steps).toBeGreaterThan(100 * layout.memo.size);
});

test("what is given up is not gone on with", async () => {
  const given = new AbortController();
  let steps = 0;
  function* endless(): Generator<void, never, void> {
    for (;;) {
      steps++;
      given.abort();
      yield;
    }
  }
  expect(await inSlices(endless(), given.signal)).toBeNull();
  const before = steps;
  await new Promise((next) => setTimeout(next, 20));
  expect(steps).toBe(before);
});

/** Two captures beside each other: one selection, and what differs stands out in both. */

import { expect, test, vi } from "vitest";
import { diff } from "../src/model/diff";
import type { CaptureGraph } from "../src/model/graph";
import { graphOf } from "../src/model/graph_of";
import type { GraphView } from "../src/model/graph_view";
import { Selection } from "../src/state/selection";
import type { Context } from "../src/view/context";
import { TwoGraphs } from "../src/view/two_graphs";
import { capture } from "./fixtures";

interface Picture {
  graph: CaptureGraph;
  select: ReturnType<typeof vi.fn>;
  match: ReturnType<typeof vi.fn>;
  destroy: ReturnType<typeof vi.fn>;
  pick(id: number | null): void;
}

const named = ({ nodes }: CaptureGraph, name: string) =>
  nodes.filter((node) => node.name === name).map(({ id }) => id);

/** "attached" before "detached": a detach was added. */
function both() {
  const [before, after] = [graphOf(capture("attached")), graphOf(capture("detached"))];
  const selection = new Selection();
  const changed = diff(before, after);
  const two = new TwoGraphs(
    { selection, graph: after } as Context,
    { graph: before, name: "before" },
    changed,
  );
  const pictures: Picture[] = [];
  two.draw((_host, graph, { onSelect }) => {
    const [select, match, destroy] = [vi.fn(), vi.fn(), vi.fn()];
    pictures.push({ graph, select, match, destroy, pick: onSelect });
    return { select, match, destroy } as unknown as GraphView;
  });
  const [older, newer] = pictures;
  return { two, changed, selection, older: older!, newer: newer! };
}

test("what is selected in one picture is selected in the other", () => {
  const { older, newer, selection } = both();
  const [was, now] = [named(older.graph, "linear")[1]!, named(newer.graph, "linear")[1]!];
  newer.pick(now);
  expect(older.select).toHaveBeenLastCalledWith([was], { focus: true });
  newer.select.mockClear();
  selection.set([], "graph");
  older.pick(was);
  expect(selection.ids).toEqual([now]);
  expect(newer.select).toHaveBeenLastCalledWith([now], { focus: true });
});

test("what only the older capture has is selected there alone", () => {
  const { two, older, selection } = both();
  const gone = { text: "", said: "", node: -1, was: 3 };
  two.show([gone]);
  expect(selection.ids).toEqual([]);
  expect(older.select).toHaveBeenLastCalledWith([3], { focus: true });
});

test("a box of several nodes stays chosen in the picture in which it was", () => {
  const { older, newer } = both();
  older.select.mockClear();
  newer.select.mockClear();
  newer.pick(named(newer.graph, "linear")[0]!);
  newer.pick(null);
  expect(newer.select).not.toHaveBeenCalled();
  expect(older.select).toHaveBeenLastCalledWith([], { focus: true });
});

test("what differs stands out in both pictures", () => {
  const { older, newer } = both();
  const [marked] = newer.match.mock.calls[0]!;
  expect(marked).toContain(named(newer.graph, "detach")[0]);
  const weights = named(older.graph, "encoder.weight");
  expect(older.match.mock.calls[0]![0]).toEqual(expect.arrayContaining(weights));
});

test("both pictures are taken down", () => {
  const { two, older, newer } = both();
  two.destroy();
  expect(older.destroy).toHaveBeenCalledOnce();
  expect(newer.destroy).toHaveBeenCalledOnce();
});

/** The vitals: statistics of modules over the training steps as a heat map, and memory below it. */

import { membersOf } from "../../model/vitals/members";
import type { Vitals } from "../../wire";
import { trans } from "../../words";
import type { Context } from "../context";
import { el } from "../dom";
import { placed } from "../place";
import { checkpoints } from "./checkpoints";
import { HeatMap } from "./heat_map";
import { lossScale } from "./loss_scale";
import { memory } from "./memory";
import { takeAway } from "./take_away";
import { vitalsTools } from "./tools";

/** Nothing where no vitals were collected. */
export function vitals(context: Context, found: Vitals): HTMLElement {
  const first = found.quantities[0];
  const bytes = memory(context, found);
  const below = [
    bytes?.host,
    lossScale(found),
    checkpoints(found.checkpoints ?? [], ({ name, modules }) => choose(context, name, modules)),
  ];
  if (!first) return el("div", { class: "agi-vitals" }, ...below);
  const map = new HeatMap(found, first, {
    choose: ({ label, path }) => choose(context, label, [path]),
    line: ({ path }) => line(context, path),
    moved: (column) => bytes?.at(column),
    said: context.announce,
  });
  const tools = vitalsTools(found, map);
  tools.append(takeAway(found, map, context.announce));
  return el("div", { class: "agi-vitals" }, tools, map.host, ...below);
}

/** Where the module runs first. */
function line(context: Context, path: string): HTMLElement | null {
  const { capture, graph } = context;
  for (const id of membersOf(capture, graph, path)) {
    const frame = capture.place(graph.nodes[id]!.site);
    if (frame) return placed(context, frame.place, { ...frame, cellId: "" });
  }
  return null;
}

function choose(context: Context, name: string, paths: readonly string[]): void {
  const nodes = paths.flatMap((path) => membersOf(context.capture, context.graph, path));
  if (!nodes.length) {
    context.announce(trans.__("%1 is not in the graph of this capture", name), true);
    return;
  }
  context.selection.set(nodes, "vitals", true);
  context.show("Graph");
}

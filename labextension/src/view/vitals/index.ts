/** The vitals: statistics of modules over the training steps as a heat map, and memory below it. */

import { membersOf } from "../../model/vitals/members";
import type { Vitals, VitalsRow } from "../../wire";
import type { Context } from "../context";
import { el } from "../dom";
import { HeatMap } from "./heat_map";
import { lossScale } from "./loss_scale";
import { memory } from "./memory";
import { takeAway } from "./take_away";
import { vitalsTools } from "./tools";

/** Nothing where no vitals were collected. */
export function vitals(context: Context, found: Vitals): HTMLElement {
  const first = found.quantities[0];
  const bytes = memory(found);
  const scale = lossScale(found);
  if (!first) return el("div", { class: "agi-vitals" }, bytes?.host, scale);
  const map = new HeatMap(found, first, {
    choose: (row) => choose(context, row),
    moved: (column) => bytes?.at(column),
    said: context.announce,
  });
  const tools = vitalsTools(found, map);
  tools.append(takeAway(found, map, context.announce));
  return el("div", { class: "agi-vitals" }, tools, map.host, bytes?.host, scale);
}

function choose(context: Context, { label, path }: VitalsRow): void {
  const nodes = membersOf(context.capture, context.graph, path);
  if (!nodes.length) {
    context.announce(`${label} is not in the graph of this capture`);
    return;
  }
  context.selection.set(nodes, "vitals", true);
  context.show("Graph");
}

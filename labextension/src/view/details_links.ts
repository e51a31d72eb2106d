/** Nodes as links: what a node comes from, what it goes to, all that are selected. */

import type { EdgeKind } from "../model/graph";
import { andMore } from "../model/said";
import { trans } from "../words";
import { type Context, label } from "./context";
import { button, dotted, el } from "./dom";

const MANY = 12;
/** What is said of an edge. */
const NAMES: Record<EdgeKind, (cause: string) => string> = {
  gradient: () => "",
  data: () => trans.__("no gradient"),
  severed: (cause) => `✂ ${cause}`,
  modified: (cause) => trans.__("saved, then modified %1", cause),
};
const isAlarming = (kind: EdgeKind) => kind === "severed" || kind === "modified";

export function neighbours(
  context: Context,
  id: number,
  side: "source" | "target",
): HTMLElement | null {
  const other = side === "source" ? "target" : "source";
  const edges = context.graph.edges.filter((edge) => edge[other] === id);
  if (!edges.length) return null;
  const rows = edges.slice(0, MANY).map((edge) => {
    const cut = NAMES[edge.kind](edge.cause);
    return el(
      "li",
      { class: isAlarming(edge.kind) ? "agi-alarm" : undefined },
      link(context, edge[side], label(context, edge[side])),
      cut && el("span", { class: "agi-tag" }, cut),
    );
  });
  return el(
    "div",
    { class: "agi-section" },
    el("h4", {}, side === "source" ? trans.__("Comes from") : trans.__("Goes to")),
    el("ul", { class: "agi-links" }, ...rows),
    edges.length > MANY && el("p", { class: "agi-quiet" }, andMore(edges.length - MANY)),
  );
}

export function links(context: Context, ids: readonly number[], most: number): HTMLElement[] {
  return ids.slice(0, most).map((id) => el("li", {}, link(context, id, label(context, id))));
}

export function link(context: Context, id: number, text: string): HTMLButtonElement {
  return button(dotted(text), () => context.selection.set([id], "details", true), {
    class: "agi-link",
  });
}

/** The placement: where each parameter, its gradient and its optimizer state live. */

import { gradientOrigins } from "../model/gradients";
import { placementRows, type Row } from "../model/mismatch";
import { counted, grouped } from "../model/said";
import { trans } from "../words";
import { bars } from "./bars";
import type { Context } from "./context";
import { el, toggle } from "./dom";
import { inline, summed } from "./gradient_origin";
import { PlacementTable } from "./placement_table";
import { SHOWN } from "./tabs";

const FOLD_FROM = 40;

export function optimizer(context: Context): HTMLElement {
  const { data } = context.capture;
  const rows = placementRows(context.capture);
  if (!rows.length) {
    return el("p", { class: "agi-empty" }, trans.__("No parameters were seen in this capture."));
  }
  const origins = gradientOrigins(context.capture);
  const table = new PlacementTable(rows, rows.length > FOLD_FROM, {
    chosen: (row) => choose(context, row),
    origin: (row) => {
      const origin = origins.get(row.index);
      return origin ? { losses: summed(origin), drawn: inline(context, origin) } : null;
    },
  });
  context.selection.listen((ids) => table.mark(tensorsOf(context, ids)));
  table.mark(tensorsOf(context, context.selection.ids));
  const mismatches = rows.filter((row) => row.problems.length).length;
  const search = el("input", {
    type: "search",
    class: "agi-input",
    placeholder: trans.__("Filter parameters"),
    "aria-label": trans.__("Filter parameters"),
    on: { input: () => table.filter(search.value) },
  });
  return el(
    "div",
    { class: "agi-optimizer", on: { [SHOWN]: () => table.reveal() } },
    ...data.optimizers.map((one) =>
      settings(one.type, one.groups ?? [], one.steps ?? 0, one.place ?? ""),
    ),
    el(
      "div",
      { class: "agi-bar-pair" },
      bars(trans.__("Bytes by device"), data.by_device),
      data.by_dtype.length > 1 ? bars(trans.__("Bytes by dtype"), data.by_dtype) : null,
    ),
    el(
      "div",
      { class: "agi-toolbar" },
      search,
      toggle(trans.__("Fold by module"), (on) => table.fold(on), rows.length > FOLD_FROM),
      toggle(trans.__("Every entry"), (on) => table.entries(on)),
      mismatches > 0 &&
        toggle(trans.__("Only mismatches (%1)", mismatches), (on) => table.onlyWrong(on)),
      el("span", { class: "agi-quiet" }, count(rows.length, data.head.parameters)),
    ),
    table.host,
  );
}

/** A notebook file may keep fewer than there were. */
function count(shown: number, all: number): string {
  if (shown >= all) return counted(all, "parameter");
  return trans._n(
    "the first %2 of %3 parameter: run the cell again for all",
    "the first %2 of %3 parameters: run the cell again for all",
    all,
    shown,
    grouped(all),
  );
}

function choose(context: Context, row: Row): void {
  const node = context.capture.leafOf.get(row.tensor);
  if (node === undefined)
    context.announce(trans.__("%1 takes no part in the graph", row.name), true);
  else context.selection.set([node], "optimizer", true);
}

function tensorsOf(context: Context, ids: readonly number[]): Set<number> {
  return new Set(ids.map((id) => context.graph.nodes[id]?.tensor ?? -1));
}

function settings(
  type: string,
  groups: Record<string, string>[],
  steps: number,
  place: string,
): HTMLElement {
  const lines = groups.slice(0, 8).map((group, n) => {
    const pairs = Object.entries(group).map(([name, value]) => `${name}=${value}`);
    return el(
      "li",
      {},
      el("span", { class: "agi-quiet" }, `${trans.__("group %1:", n)} `),
      pairs.join(", "),
    );
  });
  const text = [counted(steps, "step"), place && trans.__("made at %1", place)]
    .filter(Boolean)
    .join(" · ");
  return el(
    "details",
    { class: "agi-optimizer-head" },
    el("summary", {}, el("b", {}, type), el("span", { class: "agi-quiet" }, ` ${text}`)),
    el(
      "ul",
      {},
      ...lines,
      groups.length > 8 &&
        el("li", {}, trans._n("and %1 more group", "and %1 more groups", groups.length - 8)),
    ),
  );
}

/** What one does to the picture: search, depth, filters, the gradient's way, export. */

import type { Filter, GraphView } from "../model/graph_view";
import { counted } from "../model/said";
import { matches } from "../model/search";
import { size } from "../model/shown";
import { trans } from "../words";
import { type Context, label } from "./context";
import { button, el, fill, toggle } from "./dom";
import { menu } from "./menu";
import { roving } from "./roving";

export function toolbar(context: Context, view: GraphView, more: HTMLElement): HTMLElement {
  const depths = [1, 2, 3].map((depth) => {
    const title = trans.__("Expand to depth %1", depth);
    return button(depth, () => view.expandTo(depth), { "aria-label": title, title });
  });
  const all = trans.__("Expand all");
  const scale = el("span", { class: "agi-heat-scale", hidden: true });
  const bar = el(
    "div",
    { class: "agi-toolbar", role: "toolbar", "aria-label": trans.__("Graph") },
    search(context, view),
    el(
      "span",
      { class: "agi-depths" },
      ...depths,
      button(trans.__("All"), () => view.expandAll(), { "aria-label": all, title: all }),
    ),
    toggle(trans.__("Outline"), (on) => view.outline(on)),
    filters(context, view, scale),
    scale,
    more,
  );
  roving(bar);
  return bar;
}

function filters(context: Context, view: GraphView, scale: HTMLElement): HTMLElement {
  const filter: Filter = {};
  const change = (wanted: Filter) => view.filter(Object.assign(filter, wanted));
  const way = toggle(trans.__("Gradient path"), (on) =>
    view.path(on ? (context.selection.ids[0] ?? null) : null),
  );
  context.selection.listen((ids) => {
    if (way.getAttribute("aria-pressed") === "true") view.path(ids[0] ?? null);
  });
  const choices = [
    hasProblem(context) && toggle(trans.__("Only the problem"), (on) => change({ problems: on })),
    toggle(trans.__("Parameters"), (on) => change({ parameters: on })),
    way,
    ...heats(context, view, scale),
    choice(context, "device", trans.__("Filter by device"), trans.__("any device"), (device) =>
      change({ device }),
    ),
    choice(context, "dtype", trans.__("Filter by dtype"), trans.__("any dtype"), (dtype) =>
      change({ dtype }),
    ),
  ];
  const made = menu(trans.__("Filters"), "agi-filters", ...choices);
  // How many are in force can be seen while it is closed.
  const tell = () => {
    const pressed = made.querySelectorAll('[aria-pressed="true"]').length;
    const chosen = [...made.querySelectorAll("select")].filter((select) => select.value).length;
    const count = pressed + chosen;
    made.querySelector("summary")!.textContent = count
      ? trans.__("Filters (%1)", count)
      : trans.__("Filters");
  };
  for (const event of ["click", "change"]) made.addEventListener(event, tell);
  return made;
}

/** What boxes can be coloured by, one at a time; the scale says what the deepest colour is. */
function heats({ capture, announce }: Context, view: GraphView, scale: HTMLElement): HTMLElement[] {
  const choices: HTMLButtonElement[] = [];
  const heat = (
    name: string,
    values: Float64Array,
    said: (most: number) => string,
    told: (most: string) => string,
  ) => {
    const choice = toggle(name, (on) => {
      for (const other of choices)
        if (other !== choice) other.setAttribute("aria-pressed", "false");
      const most = view.heat(on ? values : null);
      scale.hidden = !on;
      fill(scale, "0", el("i"), said(most));
      if (on) announce(told(said(most)));
    });
    choices.push(choice);
  };
  heat(trans.__("Bytes saved"), capture.savedBytes(), size, (most) =>
    trans.__("coloured by bytes saved, at most %1 in a box", most),
  );
  const norms = capture.squaredNorms();
  if (norms) {
    heat(
      trans.__("Gradient norm"),
      norms,
      (most) => `${Number(Math.sqrt(most).toPrecision(3))}`,
      (most) => trans.__("coloured by gradient norm, at most %1 in a box", most),
    );
  }
  return choices;
}

function hasProblem({ graph }: Context): boolean {
  return graph.nodes.some((node) => node.findings.length || node.failed || node.modified.length);
}

/** How many were found stands within the field: beside it, the tools and the picture would move with every key. */
function search(context: Context, view: GraphView): HTMLElement {
  let hits: number[] = [];
  let at = -1;
  const output = el("output", { class: "agi-quiet" });
  const input = el("input", {
    type: "search",
    class: "agi-input",
    placeholder: trans.__("Search name, op, line, rule"),
    "aria-label": trans.__("Search the graph"),
    on: {
      input: () => {
        hits = matches(context.capture, context.graph, input.value);
        view.match(hits);
        at = -1;
        output.textContent = input.value.trim() ? counted(hits.length, "match") : "";
      },
      keydown: (event) => {
        const { key, shiftKey } = event as KeyboardEvent;
        if (key !== "Enter" || !hits.length) return;
        event.preventDefault();
        at = (at + (shiftKey ? hits.length - 1 : 1)) % hits.length;
        output.textContent = trans.__("%1 of %2", at + 1, hits.length);
        context.selection.set([hits[at]!], "findings", true);
        context.announce(label(context, hits[at]!));
      },
    },
  });
  return el("span", { class: "agi-search" }, input, output);
}

function choice(
  context: Context,
  what: "device" | "dtype",
  named: string,
  any: string,
  chosen: (value: string | undefined) => void,
): HTMLElement | null {
  const values = [...new Set(context.graph.nodes.map((node) => node[what]).filter(Boolean))].sort();
  if (values.length < 2) return null;
  const select = el(
    "select",
    {
      class: "agi-input",
      "aria-label": named,
      on: { change: () => chosen(select.value || undefined) },
    },
    el("option", { value: "" }, any),
    ...values.map((value) => el("option", { value }, value)),
  );
  return select;
}

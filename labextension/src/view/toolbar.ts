/** What one does to the picture: search, depth, filters, the gradient's way, export. */

import type { Filter, GraphView } from "../model/graph_view";
import { matches } from "../model/search";
import { counted, size } from "../model/shown";
import { type Context, label } from "./context";
import { button, el, fill, toggle } from "./dom";
import { menu } from "./menu";
import { roving } from "./roving";

export function toolbar(context: Context, view: GraphView, more: HTMLElement): HTMLElement {
  const depths = [1, 2, 3].map((depth) =>
    button(depth, () => view.expandTo(depth), {
      "aria-label": `Expand to depth ${depth}`,
      title: `Expand to depth ${depth}`,
    }),
  );
  const scale = el("span", { class: "agi-heat-scale", hidden: true });
  const bar = el(
    "div",
    { class: "agi-toolbar", role: "toolbar", "aria-label": "Graph" },
    search(context, view),
    el(
      "span",
      { class: "agi-depths" },
      ...depths,
      button("All", () => view.expandAll(), { "aria-label": "Expand all", title: "Expand all" }),
    ),
    toggle("Outline", (on) => view.outline(on)),
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
  const way = toggle("Gradient path", (on) =>
    view.path(on ? (context.selection.ids[0] ?? null) : null),
  );
  context.selection.listen((ids) => {
    if (way.getAttribute("aria-pressed") === "true") view.path(ids[0] ?? null);
  });
  const choices = [
    hasProblem(context) && toggle("Only the problem", (on) => change({ problems: on })),
    toggle("Parameters", (on) => change({ parameters: on })),
    way,
    ...heats(context, view, scale),
    choice(context, "device", (device) => change({ device })),
    choice(context, "dtype", (dtype) => change({ dtype })),
  ];
  const made = menu("Filters", "agi-filters", ...choices);
  // How many are in force can be seen while it is closed.
  const tell = () => {
    const pressed = made.querySelectorAll('[aria-pressed="true"]').length;
    const chosen = [...made.querySelectorAll("select")].filter((select) => select.value).length;
    const count = pressed + chosen;
    made.querySelector("summary")!.textContent = count ? `Filters (${count})` : "Filters";
  };
  for (const event of ["click", "change"]) made.addEventListener(event, tell);
  return made;
}

/** What boxes can be coloured by, one at a time; the scale says what the deepest colour is. */
function heats({ capture, announce }: Context, view: GraphView, scale: HTMLElement): HTMLElement[] {
  const choices: HTMLButtonElement[] = [];
  const heat = (name: string, values: Float64Array, said: (most: number) => string) => {
    const choice = toggle(name, (on) => {
      for (const other of choices)
        if (other !== choice) other.setAttribute("aria-pressed", "false");
      const most = view.heat(on ? values : null);
      scale.hidden = !on;
      fill(scale, "0", el("i"), said(most));
      if (on) announce(`coloured by ${name.toLowerCase()}, at most ${said(most)} in a box`);
    });
    choices.push(choice);
  };
  heat("Bytes saved", capture.savedBytes(), size);
  const norms = capture.squaredNorms();
  if (norms) heat("Gradient norm", norms, (most) => `${Number(Math.sqrt(most).toPrecision(3))}`);
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
    placeholder: "Search name, op, line, rule",
    "aria-label": "Search the graph",
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
        output.textContent = `${at + 1} of ${hits.length}`;
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
  chosen: (value: string | undefined) => void,
): HTMLElement | null {
  const values = [...new Set(context.graph.nodes.map((node) => node[what]).filter(Boolean))].sort();
  if (values.length < 2) return null;
  const select = el(
    "select",
    {
      class: "agi-input",
      "aria-label": `Filter by ${what}`,
      on: { change: () => chosen(select.value || undefined) },
    },
    el("option", { value: "" }, `any ${what}`),
    ...values.map((value) => el("option", { value }, value)),
  );
  return select;
}

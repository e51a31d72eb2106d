/** Two captures: their graphs beside each other, and what is new in this one, what is gone, newly cut, newly reached, moved. */

import type { Capture } from "../model/capture";
import { type Change, diff } from "../model/diff";
import { graphOf } from "../model/graph_of";
import { counted, size } from "../model/shown";
import type { Context } from "./context";
import { button, el } from "./dom";
import { TwoGraphs } from "./two_graphs";

const MOST = 200;
const HELP = "Put another capture beside this one: report.widget(compare=other_report).";

export interface Compared {
  root: HTMLElement;
  /** Null where there is nothing to draw. */
  graphs: TwoGraphs | null;
}

export function compare(context: Context, other: Capture | null, name: string): Compared {
  if (!other) return { root: el("p", { class: "agi-empty" }, HELP), graphs: null };
  const before = graphOf(other);
  const changed = diff(before, context.graph);
  const drawn = before.nodes.length > 0 && context.graph.nodes.length > 0;
  const graphs = drawn
    ? new TwoGraphs(context, { graph: before, name: name || "the other" }, changed)
    : null;
  const sections: [string, string, Change[]][] = [
    ["Newly cut", "✂", changed.cut],
    ["No longer cut", "∿", changed.mended],
    ["Newly reached by gradient", "✓", changed.reached],
    ["No longer reached by gradient", "✗", changed.lost],
    ["Moved or converted", "→", changed.moved],
    ["Added", "+", changed.added],
    ["Gone", "−", changed.gone],
  ];
  const filled = sections.filter(([, , changes]) => changes.length);
  const same = counted(changed.pairs.size, "node");
  const root = el(
    "div",
    { class: "agi-compare" },
    graphs?.root,
    filled.length === 0 &&
      el("p", { class: "agi-empty" }, `Nothing differs: all ${same} are the same.`),
    ...filled.map(([title, sign, changes]) => section(context, graphs, title, sign, changes)),
    filled.length > 0 && el("p", { class: "agi-quiet" }, `${same} in both`),
    numbers(other, context.capture, name),
  );
  return { root, graphs };
}

function numbers(before: Capture, after: Capture, name: string): HTMLElement {
  const of = (capture: Capture): [string, string][] => {
    const { head, findings } = capture.data;
    return [
      ["cell", head.cell],
      ["ops", head.ops.toLocaleString("en")],
      ["autograd nodes", head.autograd_nodes.toLocaleString("en")],
      ["saved for backward", size(head.saved_bytes)],
      ["findings", findings.map((finding) => finding.rule).join(", ") || "none"],
      ["raised", head.error.split("\n")[0] || "nothing"],
    ];
  };
  const [one, two] = [of(before), of(after)];
  const rows = one.map(([what, value], n) =>
    el(
      "tr",
      { class: value === two[n]![1] ? undefined : "agi-differs" },
      el("th", { scope: "row" }, what),
      el("td", {}, value),
      el("td", {}, two[n]![1]),
    ),
  );
  const head = ["", name || "other", "this"].map((text, n) =>
    n ? el("th", { scope: "col" }, text) : el("td", {}),
  );
  return el(
    "div",
    { class: "agi-table" },
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
  );
}

function section(
  context: Context,
  graphs: TwoGraphs | null,
  title: string,
  sign: string,
  changes: Change[],
): HTMLElement {
  const show = (some: Change[]) => {
    graphs?.root.closest(".agi-panel")?.scrollTo?.({ top: 0 });
    graphs?.show(some);
    context.announce(`${title}: ${counted(some.length, "node")}`);
  };
  const rows = changes.slice(0, MOST).map((change) =>
    el(
      "li",
      {},
      el("span", { class: "agi-symbol", "aria-hidden": "true" }, sign),
      button(change.text, () => show([change]), { class: "agi-link" }),
      change.said && el("span", { class: "agi-quiet" }, ` ${change.said}`),
    ),
  );
  return el(
    "section",
    { class: "agi-section" },
    el(
      "h4",
      {},
      `${title} `,
      el("span", { class: "agi-quiet" }, changes.length.toLocaleString("en")),
      button("Show in graph", () => show(changes), {
        class: "agi-show",
        "aria-label": `Show in graph: ${title}`,
      }),
    ),
    el("ul", { class: "agi-links" }, ...rows),
    changes.length > MOST && el("p", { class: "agi-quiet" }, `and ${changes.length - MOST} more`),
  );
}

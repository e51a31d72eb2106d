/** Two captures: what is new in this one, what is gone, newly cut, newly reached, moved. */

import type { Capture } from "../model/capture";
import { type Change, diff } from "../model/diff";
import { graphOf } from "../model/graph_of";
import { counted, size } from "../model/shown";
import type { Context } from "./context";
import { button, el } from "./dom";

const MOST = 200;
const HELP = "Put another capture beside this one: report.widget(compare=other_report).";

export function compare(context: Context, other: Capture | null, name: string): HTMLElement {
  if (!other) return el("p", { class: "agi-empty" }, HELP);
  const before = graphOf(other);
  const changed = diff(before, context.graph);
  const sections: [string, string, Change[]][] = [
    ["Newly cut", "✂", changed.cut],
    ["Cut no more", "∿", changed.mended],
    ["Newly reached by gradient", "✓", changed.reached],
    ["No longer reached by gradient", "✗", changed.lost],
    ["Moved or converted", "→", changed.moved],
    ["Added", "+", changed.added],
    ["Gone", "−", changed.gone],
  ];
  const filled = sections.filter(([, , changes]) => changes.length);
  return el(
    "div",
    { class: "agi-compare" },
    sideBySide(other, context.capture, name),
    filled.length === 0 &&
      el(
        "p",
        { class: "agi-empty" },
        `Nothing differs: all ${counted(changed.same, "node")} are the same.`,
      ),
    ...filled.map(([title, sign, changes]) => section(context, title, sign, changes)),
    filled.length > 0 &&
      el("p", { class: "agi-quiet" }, `${counted(changed.same, "node")} in both`),
  );
}

function sideBySide(before: Capture, after: Capture, name: string): HTMLElement {
  const numbers = (capture: Capture): [string, string][] => {
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
  const [one, two] = [numbers(before), numbers(after)];
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

function section(context: Context, title: string, sign: string, changes: Change[]): HTMLElement {
  const ids = changes.map((change) => change.node).filter((id) => id >= 0);
  const rows = changes
    .slice(0, MOST)
    .map((change) =>
      el(
        "li",
        {},
        el("span", { class: "agi-symbol", "aria-hidden": "true" }, sign),
        change.node >= 0
          ? button(change.text, () => focus(context, [change.node]), { class: "agi-link" })
          : el("span", {}, change.text),
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
      ids.length > 0 &&
        button("Show in graph", () => focus(context, ids), {
          class: "agi-show",
          "aria-label": `Show in graph: ${title}`,
        }),
    ),
    el("ul", { class: "agi-links" }, ...rows),
    changes.length > MOST && el("p", { class: "agi-quiet" }, `and ${changes.length - MOST} more`),
  );
}

function focus(context: Context, ids: number[]): void {
  context.show("Graph");
  context.selection.set(ids, "compare", true);
}

/** Two captures: their graphs beside each other, and what is new in this one, what is gone, newly cut, newly reached, moved. */

import type { Capture } from "../model/capture";
import { type Change, diff } from "../model/diff";
import { graphOf } from "../model/graph_of";
import { andMore, counted, grouped } from "../model/said";
import { size } from "../model/shown";
import { trans } from "../words";
import type { Context } from "./context";
import { button, el } from "./dom";
import { TwoGraphs } from "./two_graphs";

const MOST = 200;

export interface Compared {
  root: HTMLElement;
  /** Null where there is nothing to draw. */
  graphs: TwoGraphs | null;
}

export function compare(context: Context, other: Capture | null, name: string): Compared {
  if (!other) {
    const help = trans.__(
      "Put another capture beside this one: %1.",
      "report.widget(compare=other_report)",
    );
    return { root: el("p", { class: "agi-empty" }, help), graphs: null };
  }
  const before = graphOf(other);
  const changed = diff(before, context.graph);
  const drawn = before.nodes.length > 0 && context.graph.nodes.length > 0;
  const graphs = drawn
    ? new TwoGraphs(context, { graph: before, name: name || trans.__("the other") }, changed)
    : null;
  const sections: [string, string, Change[]][] = [
    [trans.__("Newly cut"), "✂", changed.cut],
    [trans.__("No longer cut"), "∿", changed.mended],
    [trans.__("Newly reached by gradient"), "✓", changed.reached],
    [trans.__("No longer reached by gradient"), "✗", changed.lost],
    [trans.__("Moved or converted"), "→", changed.moved],
    [trans.__("Added"), "+", changed.added],
    [trans.__("Gone"), "−", changed.gone],
  ];
  const filled = sections.filter(([, , changes]) => changes.length);
  const same = changed.pairs.size;
  const root = el(
    "div",
    { class: "agi-compare" },
    graphs?.root,
    filled.length === 0 &&
      el(
        "p",
        { class: "agi-empty" },
        trans._n(
          "Nothing differs: all %2 node are the same.",
          "Nothing differs: all %2 nodes are the same.",
          same,
          grouped(same),
        ),
      ),
    ...filled.map(([title, sign, changes]) => section(context, graphs, title, sign, changes)),
    filled.length > 0 &&
      el(
        "p",
        { class: "agi-quiet" },
        trans._n("%2 node in both", "%2 nodes in both", same, grouped(same)),
      ),
    numbers(other, context.capture, name),
  );
  return { root, graphs };
}

function numbers(before: Capture, after: Capture, name: string): HTMLElement {
  const of = (capture: Capture): [string, string][] => {
    const { head, findings } = capture.data;
    return [
      [trans.__("cell"), head.cell],
      [trans.__("ops"), grouped(head.ops)],
      [trans.__("autograd nodes"), grouped(head.autograd_nodes)],
      [trans.__("saved for backward"), size(head.saved_bytes)],
      [
        trans.__("findings"),
        findings.map((finding) => finding.rule).join(", ") || trans.__("none"),
      ],
      [trans.__("raised"), head.error.split("\n")[0] || trans.__("nothing")],
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
  const head = ["", name || trans.__("other"), trans.__("this")].map((text, n) =>
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
      el("span", { class: "agi-quiet" }, grouped(changes.length)),
      button(trans.__("Show in graph"), () => show(changes), {
        class: "agi-show",
        "aria-label": trans.__("Show in graph: %1", title),
      }),
    ),
    el("ul", { class: "agi-links" }, ...rows),
    changes.length > MOST && el("p", { class: "agi-quiet" }, andMore(changes.length - MOST)),
  );
}

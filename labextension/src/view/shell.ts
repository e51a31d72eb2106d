/** The widget as a whole: header, tabs, details, and the selection that they share. */

import type { Capture } from "../model/capture";
import { graphOf } from "../model/graph_of";
import type { CreateGraphView, GraphView } from "../model/graph_view";
import { placementRows } from "../model/mismatch";
import type { Edits } from "../state/edits";
import type { Reveal } from "../state/reveal";
import { Selection } from "../state/selection";
import { trans } from "../words";
import { compare } from "./compare";
import { type Context, label, type TabName } from "./context";
import { details } from "./details";
import { el } from "./dom";
import { exportMenu } from "./export";
import { findings } from "./findings";
import { header } from "./header";
import { trapFocusKeys } from "./keyboard";
import { keysHelp } from "./keys_help";
import { optimizer } from "./optimizer";
import { type ChooseRank, rankSwitch, together } from "./ranks";
import { listenToKeys } from "./shortcuts";
import { Tabs } from "./tabs";
import { followTheme } from "./theme";
import { timeline } from "./timeline";
import { toolbar } from "./toolbar";
import type { TwoGraphs } from "./two_graphs";
import { vitals } from "./vitals";

export interface Other {
  capture: Capture;
  name: string;
}

export interface ShellOptions {
  createGraphView: CreateGraphView;
  other: Other | null;
  /** Why there is no other although one was given. */
  refused?: string;
  /** What only Python makes; null where there is no Python to ask. */
  ask: ((format: "dot" | "json" | "html") => Promise<string>) | null;
  reveal?: Reveal;
  edits?: Edits;
  /** How to see the capture of another rank. */
  chooseRank?: ChooseRank;
  /** What was looked at before, of another rank. */
  before?: Shell["looked"] | undefined;
}

export interface Shell {
  root: HTMLElement;
  selection: Selection;
  /** Select what was selected elsewhere: all nodes of a finding are that finding. */
  follow(ids: readonly number[]): void;
  /** Read a finding, by number. */
  choose(finding: number): void;
  show(tab: TabName): void;
  /** The tab in front, and the finding that is read. */
  readonly looked: { tab: TabName | undefined; finding: number | null };
  destroy(): void;
}

export function shell(host: HTMLElement, capture: Capture, options: ShellOptions): Shell {
  const selection = new Selection();
  const live = el("p", { class: "agi-status", role: "status" });
  let view: GraphView | null = null;
  let beside: TwoGraphs | null = null;
  let grey: number | null = null;
  const stories = capture.data.findings;
  const { vitals: figures, ranks } = capture.data;
  const { finding: first, tab: tabBefore } = options.before ?? {};
  let read: number | null = stories.length ? (first ?? 0) : null;
  const context: Context = {
    capture,
    graph: graphOf(capture),
    selection,
    reveal: options.reveal ?? null,
    edits: options.edits ?? null,
    root: () => root,
    get finding() {
      return read;
    },
    choose: (finding, origin) => {
      const { rule, name, nodes = [] } = stories[finding]!;
      read = finding;
      selection.set(nodes, origin, true, finding);
      if (origin !== "opening") context.announce(`${rule} ${name}`);
    },
    show: (tab) => tabs.show(tab),
    announce: (text, seen = false) => {
      live.textContent = text;
      live.classList.toggle("agi-seen", seen);
    },
    greyAfter: (op) => {
      grey = op;
      view?.greyAfter(op);
    },
  };
  const keys = keysHelp();
  const root = el("div", { class: "autograd-inspector", "data-state": "loading" });

  function graph(panel: HTMLElement): HTMLElement {
    if (!context.graph.nodes.length) {
      return el("p", { class: "agi-empty" }, trans.__("This capture has no graph: nothing ran."));
    }
    const canvas = el("div", { class: "agi-stage" });
    const tools = el("div", { class: "agi-tools" });
    // The picture is centred by the size that it has in the page.
    const whole = el("div", { class: "agi-graph-tab" }, tools, canvas);
    panel.append(whole);
    const made = options.createGraphView(canvas, context.graph, {
      onSelect: (id) => selection.set(id === null ? [] : [id], "graph"),
    });
    view = made;
    const { cell, torch, headline } = capture.data.head;
    const heading = [cell || "autograd", `torch ${torch}`, headline];
    const { ask } = options;
    const menu = exportMenu({
      name: "autograd",
      svg: () => made.svg(...heading),
      texts: ask ? ["dot", "json", "html"] : [],
      text: (format) => ask!(format),
      announce: context.announce,
    });
    tools.append(toolbar(context, made, menu));
    if (selection.ids.length) made.select([...selection.ids], { focus: true });
    made.greyAfter(grey);
    return whole;
  }

  const mismatches = () => placementRows(capture).filter((row) => row.problems.length).length;
  const tabs = new Tabs<TabName>(
    [
      { name: "Graph", title: trans.__("Graph"), make: graph },
      {
        name: "Findings",
        title: trans.__("Findings"),
        badge: capture.data.findings.length,
        make: () => findings(context),
      },
      { name: "Timeline", title: trans.__("Timeline"), make: () => timeline(context) },
      ...(ranks
        ? [{ name: "Ranks" as const, title: trans.__("Ranks"), make: () => together(ranks) }]
        : []),
      {
        name: "Optimizer",
        title: trans.__("Optimizer"),
        badge: mismatches(),
        make: () => optimizer(context),
      },
      ...(figures
        ? [
            {
              name: "Vitals" as const,
              title: trans.__("Vitals"),
              make: () => vitals(context, figures),
            },
          ]
        : []),
      {
        name: "Compare",
        title: trans.__("Compare"),
        make: (panel) => {
          if (options.refused)
            return el("p", { class: "agi-empty" }, trans.__("No comparison: %1.", options.refused));
          const { other } = options;
          const { root, graphs } = compare(context, other?.capture ?? null, other?.name ?? "");
          panel.append(root);
          graphs?.draw(options.createGraphView);
          beside = graphs;
          return root;
        },
      },
    ],
    // Findings hold their own lines, and tables need the room.
    (name) => root.setAttribute("data-tab", name),
  );
  selection.listen((ids, origin, focus) => {
    if (origin !== "graph") view?.select([...ids], { focus });
    if (ids.length === 1) context.announce(label(context, ids[0]!));
  });
  root.append(
    header(context),
    ranks ? rankSwitch(ranks, options.chooseRank ?? null) : "",
    el("div", { class: "agi-bar" }, tabs.list, live, keys.opener),
    keys.panel,
    el("div", { class: "agi-body" }, tabs.panels, details(context)),
  );
  host.append(root);
  listenToKeys(context, keys);
  const release = trapFocusKeys(root);
  const unfollow = followTheme(root);
  if (read !== null) context.choose(read, "opening");
  tabs.show(tabBefore ?? (context.graph.nodes.length ? "Graph" : ranks ? "Ranks" : "Findings"));
  requestAnimationFrame(() => root.setAttribute("data-state", "ready"));
  return {
    root,
    selection,
    follow: (ids) => {
      const chosen = stories.findIndex(({ nodes = [] }) => nodes.length > 1 && isSame(nodes, ids));
      if (chosen >= 0) context.choose(chosen, "kernel");
      else selection.set(ids, "kernel", true);
    },
    choose: (finding) => context.choose(finding, "kernel"),
    show: (tab) => tabs.show(tab),
    get looked() {
      return { tab: tabs.now, finding: read };
    },
    destroy: () => {
      unfollow();
      release();
      view?.destroy();
      beside?.destroy();
      root.remove();
    },
  };
}

function isSame(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((id, n) => id === others[n]);
}

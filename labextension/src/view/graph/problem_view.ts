/** "Only the problem": a small picture of its own, with one box for all that lies between what matters. */

import { treeOf } from "../../layout";
import { problemNodes } from "../../layout/problems";
import { type Compact, compact, MOST } from "../../model/compact";
import type { CaptureGraph } from "../../model/graph";
import type { CreateGraphView, GraphView } from "../../model/graph_view";
import { startsBackward } from "../../model/shown";
import { el } from "../dom";

/** What the program's nodes are in a picture. */
interface Inside {
  ids(ids: number[]): number[];
  amounts(values: ArrayLike<number>): ArrayLike<number>;
}

const WHOLE: Inside = { ids: (ids) => ids, amounts: (values) => values };

export function withProblemView(create: CreateGraphView): CreateGraphView {
  return (host, graph, options) => {
    const page = el("div", { class: "agi-graph-page" });
    const small = el("div", { class: "agi-graph-page", hidden: true });
    host.append(page, small);
    const whole = create(page, graph, options);
    let problem: { view: GraphView; inside: Inside } | null = null;

    /** What was said to both pictures last, of each kind: a new one is told it all. */
    const said = new Map<string, (view: GraphView, inside: Inside) => void>();
    const tell = (what: string, say: (view: GraphView, inside: Inside) => void): void => {
      said.set(what, say);
      say(whole, WHOLE);
      if (problem) say(problem.view, problem.inside);
    };
    const open = (): void => {
      const kept = importantFirst(graph);
      if (problem || kept.length === 0) return;
      const about = compact(graph, kept);
      small.hidden = false; // It is made where it can be measured.
      const view = create(small, about.graph, {
        // A stand-in is no node: the whole picture has those that it stands for.
        onSelect: (id) => options.onSelect(id === null || about.members.has(id) ? null : id),
      });
      problem = { view, inside: insideOf(about) };
      for (const say of said.values()) say(view, problem.inside);
    };
    const close = (): void => {
      problem?.view.destroy();
      problem = null;
    };
    const shown = (): GraphView => problem?.view ?? whole;
    return {
      select: (ids, how) => tell("select", (view, inside) => view.select(inside.ids(ids), how)),
      filter({ problems = false, ...rest }) {
        if (problems) open();
        else close();
        small.hidden = problem === null;
        page.hidden = problem !== null;
        tell("filter", (view) => view.filter(rest));
      },
      match: (ids) => tell("match", (view, inside) => view.match(inside.ids(ids))),
      greyAfter: (op) => tell("greyAfter", (view) => view.greyAfter(op)),
      path: (node) =>
        tell("path", (view, inside) =>
          view.path(node === null ? null : (inside.ids([node])[0] ?? null)),
        ),
      heat(values) {
        let most = 0;
        tell("heat", (view, inside) => {
          most = Math.max(most, view.heat(values && inside.amounts(values)));
        });
        return most;
      },
      outline: (on) => tell("outline", (view) => view.outline(on)),
      expandTo: (depth) => shown().expandTo(depth),
      expandAll: () => shown().expandAll(),
      fit: () => shown().fit(),
      svg: (...heading) => shown().svg(...heading),
      destroy() {
        close();
        whole.destroy();
        page.remove();
        small.remove();
      },
    };
  };
}

function insideOf({ graph, members }: Compact): Inside {
  const there = new Set(graph.nodes.map((node) => node.id));
  return {
    ids: (ids) => ids.filter((id) => there.has(id)),
    amounts(values) {
      const amounts = Array.from(values);
      for (const [id, group] of members)
        amounts[id] = group.reduce((sum, member) => sum + (values[member] ?? 0), 0);
      return amounts;
    },
  };
}

/** The nodes of the first finding, then those of the others, then where backward starts. */
function importantFirst(graph: CaptureGraph): number[] {
  const problems = problemNodes(treeOf(graph));
  if (problems.size === 0) return [];
  const rank = (id: number): number =>
    Math.min(...graph.nodes[id]!.findings, Number.MAX_SAFE_INTEGER);
  const ordered = [...problems].sort((a, b) => rank(a) - rank(b) || a - b);
  const roots = graph.nodes
    .filter((node) => startsBackward(node) && !problems.has(node.id))
    .slice(0, 2);
  return [...ordered.slice(0, MOST - roots.length), ...roots.map((node) => node.id)];
}

/** "Only the problem": a small picture of its own, with one box for all that lies between what matters. */

import { treeOf } from "../../layout";
import { problemNodes } from "../../layout/problems";
import { type Compact, compact } from "../../model/compact";
import type { CaptureGraph } from "../../model/graph";
import type { CreateGraphView, GraphView } from "../../model/graph_view";

export function withProblemView(create: CreateGraphView): CreateGraphView {
  return (host, graph, options) => {
    const pages = [document.createElement("div"), document.createElement("div")] as const;
    for (const page of pages) page.className = "agi-graph-page";
    const [page, small] = pages;
    small.hidden = true;
    host.append(...pages);
    const whole = create(page, graph, options);
    let about: Compact | null = null;
    let problem: GraphView | null = null;
    const made = (): void => {
      const kept = importantFirst(graph);
      if (problem || kept.length === 0) return;
      about = compact(graph, kept);
      problem = create(small, about.graph, {
        // A stand-in is no node: the whole picture has those that it stands for.
        onSelect: (id) => options.onSelect(id === null || about!.members.has(id) ? null : id),
      });
    };
    const now = (): GraphView => (small.hidden ? whole : problem!);
    const narrow = (on: boolean): void => {
      // It is made where it can be measured, and not kept: it is small.
      small.hidden = !on;
      if (on) made();
      else {
        problem?.destroy();
        problem = null;
      }
      small.hidden = problem === null;
      page.hidden = problem !== null;
    };
    const inProblem = (ids: number[]): number[] =>
      ids.filter((id) => about!.graph.nodes.some((node) => node.id === id));
    return {
      select(ids, how) {
        whole.select(ids, how);
        problem?.select(inProblem(ids), how);
      },
      expandTo: (depth) => now().expandTo(depth),
      expandAll: () => now().expandAll(),
      filter({ problems = false, ...rest }) {
        narrow(problems);
        whole.filter(rest);
        problem?.filter(rest);
      },
      match(ids) {
        whole.match(ids);
        problem?.match(inProblem(ids));
      },
      greyAfter(op) {
        whole.greyAfter(op);
        problem?.greyAfter(op);
      },
      path: (node) => now().path(node),
      heat: (values) => whole.heat(values),
      outline: (on) => now().outline(on),
      fit: () => now().fit(),
      svg: (...heading) => now().svg(...heading),
      destroy() {
        whole.destroy();
        problem?.destroy();
        for (const one of pages) one.remove();
      },
    };
  };
}

/** The nodes of the first finding, then those of the others, then where backward starts. */
function importantFirst(graph: CaptureGraph): number[] {
  const problems = problemNodes(treeOf(graph));
  if (problems.size === 0) return [];
  const rank = (id: number): number =>
    Math.min(...graph.nodes[id]!.findings, Number.MAX_SAFE_INTEGER);
  const ordered = [...problems].sort((a, b) => rank(a) - rank(b) || a - b);
  const roots = graph.nodes.filter((node) => node.root && !problems.has(node.id)).slice(0, 2);
  return [...ordered.slice(0, 28), ...roots.map((node) => node.id)];
}

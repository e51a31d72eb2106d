/** What a search finds, best first: modules, ops, parameters, what else is known of a node; lines only where nothing else is. */

import { term } from "../model/said";
import { trans } from "../words";
import type { Capture } from "./capture";
import type { CaptureGraph, GraphNode } from "./graph";

/** From the best on. A node of no rank was not found. */
const RANKS = ["module", "op", "tensor", "fact", "line"] as const;
type Rank = (typeof RANKS)[number];

export function matches(capture: Capture, graph: CaptureGraph, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = new Map<Rank, GraphNode[]>(RANKS.map((rank) => [rank, []]));
  const ranked = ranking(capture, graph, wanted);
  for (const node of graph.nodes) {
    const rank = ranked(node);
    if (rank) found.get(rank)!.push(node);
  }
  const named = RANKS.slice(0, -1).flatMap((rank) => found.get(rank)!.sort(gradientFirst));
  // A word such as `loss` stands on hundreds of lines: they matter where it is the name of nothing.
  return (named.length ? named : found.get("line")!).map((node) => node.id);
}

/** How a model was built is seldom what somebody looks for. */
function gradientFirst(a: GraphNode, b: GraphNode): number {
  return Number(b.tracked) - Number(a.tracked) || a.id - b.id;
}

function ranking(
  capture: Capture,
  graph: CaptureGraph,
  wanted: string,
): (node: GraphNode) => Rank | null {
  const rules = new Set<number>();
  capture.data.findings.forEach((finding, n) => {
    if (`${finding.rule} ${finding.name}`.toLowerCase().includes(wanted)) rules.add(n);
  });
  const lines = new Map<number, boolean>();
  const onLine = (site: number): boolean => {
    let matching = lines.get(site);
    if (matching === undefined) {
      const frame = capture.place(site);
      matching = !!frame && `${frame.place} ${frame.source}`.toLowerCase().includes(wanted);
      lines.set(site, matching);
    }
    return matching;
  };
  // What is shown of each node is asked once: there may be 50,000.
  const [before = "", after = ""] = trans.__("op %1", "\n").split("\n");
  const kinds = new Map<string, string>();
  const factsOf = ({ path, kind, shape, region, gradFns, op, error, call }: GraphNode): string => {
    if (!kinds.has(kind)) kinds.set(kind, term(kind));
    const type = graph.calls[call]?.type ?? "";
    const number = op >= 0 ? `${before}${op + 1}${after}` : "";
    const facts = [path, type, kinds.get(kind), shape, region, ...gradFns, number, error];
    return facts.join("\n").toLowerCase();
  };
  const met = new Set<number>();
  return (node) => {
    const within = inModule(node, wanted);
    if (within && !met.has(node.call)) {
      // A module is found by the first node of each of its calls.
      met.add(node.call);
      return "module";
    }
    if (node.name.toLowerCase().includes(wanted)) return node.op >= 0 ? "op" : "tensor";
    if (within) return null;
    if (node.findings.some((finding) => rules.has(finding))) return "fact";
    if (factsOf(node).includes(wanted)) return "fact";
    return onLine(node.site) ? "line" : null;
  };
}

/** `h.3` is the module `transformer.h.3`, not what lies in it. */
function inModule(node: GraphNode, wanted: string): boolean {
  const path = node.path.toLowerCase();
  return node.call >= 0 && (path === wanted || path.endsWith(`.${wanted}`));
}

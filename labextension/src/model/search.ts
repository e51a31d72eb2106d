/** Nodes by name, op, grad_fn, module, class, shape, grad mode, line or rule; those so named come first. */

import type { Capture } from "./capture";
import type { CaptureGraph, GraphNode } from "./graph";

export function matches(capture: Capture, graph: CaptureGraph, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
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
  const nodes = graph.nodes.filter(
    (node) =>
      textOf(node, graph.calls[node.call]?.type ?? "").includes(wanted) ||
      node.findings.some((finding) => rules.has(finding)) ||
      onLine(node.site),
  );
  // A line that calls sigmoid(linear(x)) makes both nodes; who asks for sigmoid means the first.
  const named = (node: GraphNode) => node.name.toLowerCase().includes(wanted);
  const others = nodes.filter((node) => !named(node));
  return [...nodes.filter(named), ...others].map((node) => node.id);
}

function textOf(node: GraphNode, type: string): string {
  const { path, name, kind, shape, region, gradFns, op, error } = node;
  const number = op >= 0 ? `op ${op + 1}` : "";
  return [path, name, type, kind, shape, region, ...gradFns, number, error]
    .join("\n")
    .toLowerCase();
}

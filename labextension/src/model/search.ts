/** Nodes by name, op, grad_fn, module, line or rule. */

import type { Capture } from "./capture";
import type { CaptureGraph } from "./graph";

export function matches(capture: Capture, graph: CaptureGraph, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const rules = new Set<number>();
  capture.data.findings.forEach((finding, n) => {
    if (`${finding.rule} ${finding.name}`.toLowerCase().includes(wanted)) rules.add(n);
  });
  const lines = new Map<number, boolean>();
  const onLine = (site: number): boolean => {
    let known = lines.get(site);
    if (known === undefined) {
      const frame = capture.place(site);
      known = !!frame && `${frame.place} ${frame.source}`.toLowerCase().includes(wanted);
      lines.set(site, known);
    }
    return known;
  };
  return graph.nodes
    .filter(
      (node) =>
        [node.path, node.name, ...node.gradFns].join(" ").toLowerCase().includes(wanted) ||
        node.findings.some((finding) => rules.has(finding)) ||
        onLine(node.site),
    )
    .map((node) => node.id);
}

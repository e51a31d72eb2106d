/** How grave something is: which of several is worst, and what that makes of a cut. */

import type { CaptureGraph, GraphEdge, GraphNode, Severity } from "./graph";

/** Worst first. */
export const SEVERITIES: readonly Severity[] = ["error", "warning", "info"];

/** A severity that this front end does not know is no reason for alarm. */
export function severityOf(text: string): Severity {
  return SEVERITIES.find((severity) => severity === text) ?? "info";
}

export function worse<T extends Severity | "">(a: T, b: T): T {
  if (a === "" || b === "") return a || b;
  return SEVERITIES.indexOf(a) <= SEVERITIES.indexOf(b) ? a : b;
}

/** What is wrong with a node; "" for nothing. */
export function severityOfNode(graph: CaptureGraph, node: GraphNode): Severity | "" {
  if (node.failed || node.modified.length > 0) return "error";
  let worst: Severity | "" = "";
  for (const finding of node.findings) {
    worst = worse(worst, graph.findings[finding]?.severity ?? "info");
  }
  return worst;
}

/**
 * A cut is as grave as what is found at its ends. One that no finding names was meant, like that of a target
 * network; it is worth seeing as long as what follows feeds a backward.
 */
export function severityOfCut(
  graph: CaptureGraph,
  edge: GraphEdge,
  ends: (GraphNode | null | undefined)[],
): Severity | "" {
  if (edge.kind === "modified") return "error";
  if (edge.kind !== "severed" || !edge.live) return "";
  let worst: Severity = "info";
  for (const node of ends) {
    for (const finding of node?.findings ?? []) {
      worst = worse(worst, graph.findings[finding]?.severity ?? "info");
    }
  }
  return worst;
}

/** How grave a node and a cut are, and which of it is a problem. */

import { expect, test } from "vitest";
import { problemNodes } from "../src/layout/problems";
import { buildTree } from "../src/layout/tree";
import type { CaptureGraph, Severity } from "../src/model/graph";
import { severityOf, severityOfNode, worse } from "../src/model/severity";
import { edge, node, real } from "./layout/graphs";

/** Two nodes with a cut between them that a backward felt; the second is named by these findings. */
function cut(...severities: Severity[]): CaptureGraph {
  const findings = severities.map((severity) => ({ rule: "AG101", name: "detached", severity }));
  return {
    nodes: [
      node(0, { name: "a", op: 0 }),
      node(1, { name: "b", op: 1, findings: findings.map((_, n) => n) }),
      node(2, { name: "c", op: 2, root: true }),
    ],
    edges: [edge(0, 1, { kind: "severed", cause: "detached", live: true }), edge(1, 2)],
    calls: [],
    findings,
    models: [],
  };
}

test("the worst of several severities counts, and an unknown one is no alarm", () => {
  expect(worse("info", "warning")).toBe("warning");
  expect(worse("error", "info")).toBe("error");
  expect(worse("", "info")).toBe("info");
  expect(severityOf("fatal")).toBe("info");
});

test("where backward failed, and where a saved tensor was modified, is an error without any finding", () => {
  const graph = cut();
  expect(severityOfNode(graph, node(3, { failed: true }))).toBe("error");
  const modified = [{ name: "result", saved: 0, now: 1 }];
  expect(severityOfNode(graph, node(3, { modified }))).toBe("error");
  expect(severityOfNode(graph, node(3))).toBe("");
});

test("a cut is as grave as what is found at its end, and only worth seeing where nothing is", () => {
  expect([...buildTree(cut()).cuts.values()]).toEqual(["info"]);
  expect([...buildTree(cut("info", "warning")).cuts.values()]).toEqual(["warning"]);
});

test("the box around shows the worst of what is in it", () => {
  expect(buildTree(real("version")).root.troubles.worst).toBe("error");
  expect(buildTree(real("severed")).root.troubles.worst).toBe("warning");
  expect(buildTree(real("gpt2")).root.troubles.worst).toBe("");
});

test("what is only worth seeing is a problem where nothing is worse", () => {
  const graph = cut("info");
  expect([...problemNodes(buildTree(graph))].sort()).toEqual([0, 1]);
  graph.nodes[2]!.failed = true;
  expect([...problemNodes(buildTree(graph))]).toEqual([2]);
});

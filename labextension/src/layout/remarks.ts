/** What a box says beneath its name: what went wrong in it, and what a reader should know. */

import type { Severity } from "../model/graph";
import { counted, grouped } from "../model/said";
import { startsBackward } from "../model/shown";
import { trans } from "../words";
import { computedAgainIn } from "./again";
import { type Box, nodesOf, type Tree } from "./box";
import { shown } from "./text";

export interface Remark {
  text: string;
  role: Severity | "note";
}

export function remarksOf(box: Box, tree: Tree): Remark[] {
  return [...troublesOf(box, tree), ...notesOf(box)];
}

function troublesOf(box: Box, tree: Tree): Remark[] {
  const { failed, modified, cuts, findings, worst } = box.troubles;
  const remarks: Remark[] = [];
  const say = (text: string, role: Severity): unknown => remarks.push({ text, role });
  if (failed) {
    const where = box.node ? trans.__("backward failed here") : trans.__("backward failed inside");
    say(`✕ ${where}`, "error");
  }
  if (box.node) {
    const saved = new Set<string>();
    for (const { modified } of nodesOf(box)) {
      for (const { name, saved: then, now } of modified)
        saved.add(trans.__("%1: saved v%2, now v%3", shown(name, 20), then, now));
    }
    for (const text of saved) say(text, "error");
    if (box.node.error && !failed) say(trans.__("raised %1", shown(box.node.error)), "error");
  } else {
    if (modified) {
      const text = trans._n(
        "%2 saved tensor modified",
        "%2 saved tensors modified",
        modified,
        grouped(modified),
      );
      say(text, "error");
    }
    for (const [cause, times] of cuts) {
      say(`✂ ${shown(cause)}${times > 1 ? ` ×${times}` : ""}`, worst || "info");
    }
  }
  if (remarks.length === 0 && findings.size > 0) say(namesOf(findings, tree), worst || "info");
  return remarks;
}

function namesOf(findings: Set<number>, tree: Tree): string {
  const named = [...findings].map((finding) => tree.graph.findings[finding]);
  const [only] = named;
  if (named.length === 1 && only) return `${only.rule} ${only.name}`;
  const rules = new Set(named.map((finding) => finding?.rule));
  return rules.size <= 3 && !rules.has(undefined)
    ? [...rules].join(", ")
    : counted(findings.size, "finding");
}

function notesOf(box: Box): Remark[] {
  const notes: string[] = [];
  if (box.node && startsBackward(box.node)) notes.push(trans.__("backward starts here"));
  if (box.node?.recomputed && !box.computedAgain) notes.push(`↻ ${trans.__("during backward")}`);
  if (box.holdsAgain && !box.computedAgain) {
    const [again, ops] = computedAgainIn(box);
    notes.push(`↻ ${trans.__("%1 of %2 ops", grouped(again), grouped(ops))}`);
  }
  const hooks = hooksIn(box);
  if (hooks) notes.push(`↪ ${counted(hooks, "hook")}`);
  return notes.map((text) => ({ text, role: "note" }));
}

function hooksOn(box: Box): number {
  return nodesOf(box).reduce((sum, node) => sum + node.hooks, 0);
}

/** Hooks on all that is in a box. */
export function hooksIn(box: Box): number {
  return box.children.reduce((sum, child) => sum + hooksIn(child), hooksOn(box));
}

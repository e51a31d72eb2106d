/** A finding in words: where it is, what to copy of it, and how a link names it. */

import type { CodeBlock, CodeRow, FindingView } from "../wire";

export interface Culprit {
  block: CodeBlock;
  row: CodeRow;
}

/** The line to look at first. */
export function culpritOf(finding: FindingView): Culprit | null {
  for (const block of finding.code ?? []) {
    const row = block.rows.find((one) => one.culprit);
    if (row) return { block, row };
  }
  return null;
}

/** `In [3], line 7` of a cell, `train.py:7` of a file. */
export function placeOf({ block, row }: Culprit): string {
  return block.cell ? `${block.cell}, line ${row.line}` : `${block.title}:${row.line}`;
}

/** The same with the whole path, as an editor or a terminal opens it. */
export function fullPlaceOf(culprit: Culprit): string {
  const { block, row } = culprit;
  return block.filename ? `${block.filename}:${row.line}` : placeOf(culprit);
}

/** All of a finding as text, for an issue or a chat. */
export function textOf(finding: FindingView): string {
  const { rule, name, severity, message, fix } = finding;
  const lines = (finding.code ?? []).flatMap((block) => {
    const said = block.rows.filter((row) => row.role);
    return said.map((row) => `  ${placeOf({ block, row })}: ${row.text.trim()}  # ${row.role}`);
  });
  const steps = (finding.steps ?? []).map((step) => `  - ${step}`);
  const cure = fix ? [`fix: ${fix}`] : [];
  return [`${rule} ${name} (${severity})`, message, ...lines, ...steps, ...cure].join("\n");
}

/** How a link names each finding: `AG201-1` is the first of its rule. */
export function anchorsOf(findings: readonly FindingView[]): string[] {
  const counts = new Map<string, number>();
  return findings.map(({ rule }) => {
    const count = (counts.get(rule) ?? 0) + 1;
    counts.set(rule, count);
    return `${rule}-${count}`;
  });
}

/** A finding in words: where it is, what to copy of it, and how a link names it. */

import { term } from "../model/said";
import type { CodeLine, Excerpt, FindingView } from "../wire";
import { trans } from "../words";

export interface Culprit {
  excerpt: Excerpt;
  line: CodeLine;
}

/** The line to look at first. */
export function culpritOf(finding: FindingView): Culprit | null {
  for (const excerpt of finding.code ?? []) {
    const line = excerpt.lines?.find((one) => one.culprit);
    if (line) return { excerpt, line };
  }
  return null;
}

/** `In [3]` for a cell, `train.py` for a file. */
export function titleOf({ cell, filename }: Excerpt): string {
  return cell || (filename.replaceAll("\\", "/").split("/").pop() ?? filename);
}

/** `In [3], line 7` of a cell, `train.py:7` of a file. */
export function placeOf({ excerpt, line }: Culprit): string {
  const { lineno } = line;
  return excerpt.cell
    ? trans.__("%1, line %2", excerpt.cell, lineno)
    : `${titleOf(excerpt)}:${lineno}`;
}

/** The same with the whole path, as an editor or a terminal opens it. */
export function fullPlaceOf(culprit: Culprit): string {
  const { excerpt, line } = culprit;
  return excerpt.filename ? `${excerpt.filename}:${line.lineno}` : placeOf(culprit);
}

/** All of a finding as text, for an issue or a chat. */
export function textOf(finding: FindingView): string {
  const { rule, name, severity, message, fix } = finding;
  const lines = (finding.code ?? []).flatMap((excerpt) => {
    const said = (excerpt.lines ?? []).filter((line) => line.role);
    return said.map(
      (line) => `  ${placeOf({ excerpt, line })}: ${line.text.trim()}  # ${line.role}`,
    );
  });
  const steps = (finding.steps ?? []).map((step) => `  - ${step}`);
  const cure = fix ? [trans.__("fix: %1", fix)] : [];
  return [`${rule} ${name} (${term(severity)})`, message, ...lines, ...steps, ...cure].join("\n");
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

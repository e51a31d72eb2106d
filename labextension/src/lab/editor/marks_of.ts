/** Captures -> which lines of which cell are marked. */

import type { Severity } from "../../model/graph";
import { severityOf, worse } from "../../model/severity";
import { concernsCells } from "../../state/edits";
import { trans } from "../i18n";
import type { Entry, Mark } from "../kernel/messages";

/** A code cell as the notebook knows it. */
export interface CellFacts {
  id: string;
  /** null before it ran, and while it runs. */
  count: number | null;
  /** Its text is another than what ran, as far as the notebook knows: it forgets that when the page is loaded again. */
  dirty: boolean;
  text: string;
}

/** What findings say of one line. */
export interface MarkedLine {
  /** From 1. */
  line: number;
  /** The worst of what it is the culprit of, if it is one; else of what it belongs to. */
  severity: Severity;
  /** The line to look at first; the others belong to its story. */
  culprit: boolean;
  marks: readonly Mark[];
}

/** Of captures of the same cell only the newest; `entries` are newest first. */
export function newest(entries: readonly Entry[]): Entry[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    const cell = entry.cell_id || entry.cell;
    if (cell && seen.has(cell)) return false;
    seen.add(cell);
    return true;
  });
}

/** The lines of a cell that findings of the newest captures name, in order; none of a cell that was edited. */
export function marksOf(entries: readonly Entry[], cell: CellFacts): MarkedLine[] {
  if (cell.dirty) return [];
  const text = cell.text.split("\n");
  const lines = new Map<number, Mark[]>();
  for (const mark of newest(entries).flatMap((entry) => entry.marks ?? [])) {
    if (!concerns(mark, cell) || !stands(mark, text)) continue;
    const there = lines.get(mark.line) ?? [];
    if (there.some((one) => one.rule === mark.rule && one.message === mark.message)) continue;
    lines.set(mark.line, [...there, mark]);
  }
  return [...lines]
    .sort(([a], [b]) => a - b)
    .map(([line, marks]) => {
      const begun = marks.filter(({ culprit }) => culprit);
      const told = begun.length ? begun : marks;
      return {
        line,
        severity: told.map((mark) => severityOf(mark.severity)).reduce(worse),
        culprit: begun.length > 0,
        marks,
      };
    });
}

/** The gravest line that something was found to begin with, of the captures the newest that found something grave. */
export function answerOf(entries: readonly Entry[]): Mark | null {
  for (const { marks = [] } of newest(entries)) {
    const worst = gravest(marks);
    if (worst) return worst;
  }
  return null;
}

/** Of several the first; null where only remarks are made. */
export function gravest(marks: readonly Mark[]): Mark | null {
  const culprits = marks.filter(({ culprit }) => culprit);
  const of = (level: Severity) => culprits.find(({ severity }) => severityOf(severity) === level);
  return of("error") ?? of("warning") ?? null;
}

/** "AG201 saved-tensor-modified", as the report has it. */
export function phraseOf({ rule, name }: Mark): string {
  return `${rule} ${name}`;
}

/** "line 7", of a file "helpers.py:8". */
export function placeOf({ cell, line, path }: Mark): string {
  return path ? `${cell}:${line}` : trans.__("line %1", line);
}

/** Those whose fix can be made in cells. */
export function fixesOf({ marks }: MarkedLine): Mark[] {
  return marks.filter(({ patch }) => patch && concernsCells(patch));
}

/** A cell that ran again since is not what the capture saw, even under the same id. */
function concerns(mark: Mark, cell: CellFacts): boolean {
  const same = cell.count === null || mark.cell === `In [${cell.count}]`;
  return mark.cell_id ? mark.cell_id === cell.id && same : cell.count !== null && same;
}

/** The line still says what ran. */
function stands({ line, source }: Mark, text: readonly string[]): boolean {
  return !source || text[line - 1]?.trim() === source;
}

export interface Counts {
  errors: number;
  warnings: number;
  infos: number;
}

/** What the newest captures found, in all. */
export function countsOf(entries: readonly Entry[]): Counts {
  const counts = { errors: 0, warnings: 0, infos: 0 };
  for (const entry of newest(entries)) {
    counts.errors += entry.errors;
    counts.warnings += entry.warnings;
    counts.infos += entry.infos;
  }
  return counts;
}

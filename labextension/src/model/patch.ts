/** A unified diff, as the inspector writes it, and a text that it is made in. */

export interface Section {
  /** "In [3]" for a cell, else the name of a file. */
  name: string;
  hunks: Hunk[];
}

interface Hunk {
  /** The first line of the old text, from 1; of an insertion the line that it comes behind. */
  begin: number;
  lines: string[];
}

const CELL = /^In \[\d+\]$/;

export function isCell(name: string): boolean {
  return CELL.test(name);
}

export function sectionsOf(patch: string): Section[] {
  const sections: Section[] = [];
  for (const line of patch.split("\n")) {
    const hunks = sections.at(-1)?.hunks ?? [];
    const header = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (line.startsWith("--- a/")) sections.push({ name: line.slice("--- a/".length), hunks: [] });
    else if (header) hunks.push({ begin: Number(header[1]), lines: [] });
    else if (/^[ +-]/.test(line) && !line.startsWith("+++ b/")) hunks.at(-1)?.lines.push(line);
  }
  return sections;
}

/** The text with the section's changes; null where it does not read as it did when the patch was made. */
export function patched(text: string, { hunks }: Section): string | null {
  const before = text.split("\n");
  const after: string[] = [];
  let next = 0;
  for (const { begin, lines } of hunks) {
    const old = lines.filter((line) => !line.startsWith("+")).map((line) => line.slice(1));
    const start = old.length ? begin - 1 : begin;
    if (old.some((line, n) => before[start + n] !== line)) return null;
    after.push(...before.slice(next, start));
    after.push(...lines.filter((line) => !line.startsWith("-")).map((line) => line.slice(1)));
    next = start + old.length;
  }
  return [...after, ...before.slice(next)].join("\n");
}

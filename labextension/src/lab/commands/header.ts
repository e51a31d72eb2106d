/** The line that has a cell inspected: where it goes, and where it cannot. */

export const HEADER = "%%autograd_inspect";
const OURS = /^[ \t]*%%autograd_inspect(?:[ \t].*)?$/;

/** Replace the characters from `start` to `end`. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Whether a cell asks to be inspected. */
export function hasHeader(source: string): boolean {
  return OURS.test(firstLine(source).line);
}

/** What puts the header on top of a cell; null where it stands already, or where another magic (see `magicOf`) does. */
export function adding(source: string): Edit | null {
  return magicOf(source) ? null : { start: 0, end: 0, text: `${HEADER}\n` };
}

/** What takes the header away, options and all; null where there is none. */
export function removing(source: string): Edit | null {
  const { line, start } = firstLine(source);
  if (!OURS.test(line)) return null;
  return { start, end: Math.min(source.length, start + line.length + 1), text: "" };
}

/** The cell magic that a cell begins with, "" for none. */
export function magicOf(source: string): string {
  return /^%%\S*/.exec(firstLine(source).line.trim())?.[0] ?? "";
}

/** The first line that is not blank: IPython strips those before it. */
function firstLine(source: string): { line: string; start: number } {
  let start = 0;
  for (const line of source.split("\n")) {
    if (line.trim()) return { line: line.replace(/\r$/, ""), start };
    start += line.length + 1;
  }
  return { line: "", start: 0 };
}

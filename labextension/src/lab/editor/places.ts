/** Where a file of the kernel's machine is for the contents manager, and which cell a capture means. */

import type { Target } from "../../state/reveal";

/** Installed files are nobody's to edit. */
const LIBRARY = /[\\/](?:site-packages|dist-packages|lib[\\/]python\d[^\\/]*)[\\/]/;

export function isLibrary(filename: string): boolean {
  return LIBRARY.test(filename);
}

/** A path below the server's root; null for a file elsewhere. `root` may begin with "~". */
export function belowRoot(filename: string, root: string): string | null {
  const file = filename.replaceAll("\\", "/");
  const base = root.replaceAll("\\", "/").replace(/\/+$/, "");
  if (base.startsWith("~")) {
    const home = /^(?:[A-Za-z]:)?\/(?:root|(?:home|Users)\/[^/]+)(?=\/)/.exec(file)?.[0];
    return home ? belowRoot(file, home + base.slice(1)) : null;
  }
  const inside = file.startsWith(`${base}/`) ? file.slice(base.length + 1) : null;
  return inside && !inside.split("/").includes("..") ? inside : null;
}

export interface Candidate {
  id: string;
  count: number | null;
  source: string;
}

/**
 * The index of the cell that a capture means, -1 for none: by the notebook's id of it, else by its number. After a
 * restart two cells may have the same number; then the one whose line reads as the capture says.
 */
export function cellFor(target: Target, cells: readonly Candidate[]): number {
  const byId = target.cellId ? cells.findIndex((cell) => cell.id === target.cellId) : -1;
  if (byId >= 0) return byId;
  const count = Number(/\d+/.exec(target.cell)?.[0] ?? Number.NaN);
  const numbered = cells.map((_, n) => n).filter((n) => cells[n]!.count === count);
  const line = (n: number) => cells[n]!.source.split("\n")[target.line - 1]?.trim();
  return numbered.find((n) => line(n) === target.source.trim()) ?? numbered[0] ?? -1;
}

/** Few enough boxes in every box: repeated siblings become one box, long rows of ops too. */

import { type Box, boxAround } from "./box";
import type { Signatures } from "./signature";

/** Longest unit that is looked for in a repetition. */
const LONGEST_UNIT = 12;
/** More ops than this side by side are cut into runs of at most RUN. */
const MANY = 60;
const RUN = 40;
const SHORTEST_RUN = 6;

/** The items of one scope in program order, leaves not among them, folded. */
export function fold(items: Box[], call: number, signatures: Signatures): Box[] {
  let folded = foldRepeats(items, call, signatures);
  if (folded.length > MANY) folded = foldRuns(folded, call);
  while (folded.length > 2 * MANY) folded = chunks(folded, call);
  return folded;
}

function foldRepeats(items: Box[], call: number, signatures: Signatures): Box[] {
  const marks = items.map((item) => signatures.of(item));
  const result: Box[] = [];
  for (let at = 0; at < items.length; ) {
    const [length, times] = repetition(items, marks, at);
    if (times === 0) {
      result.push(items[at++]!);
      continue;
    }
    const units: Box[] = [];
    for (let n = 0; n < times; n++) {
      const unit = items.slice(at + n * length, at + (n + 1) * length);
      units.push(length === 1 ? unit[0]! : boxAround("unit", call, unit));
    }
    at += length * times;
    result.push(repeated(units, call));
  }
  return result;
}

/** [length of the unit, how often it comes] of the repetition at `at` that covers most; times 0 for none. */
function repetition(items: Box[], marks: number[], at: number): [number, number] {
  let best: [number, number] = [1, 0];
  for (let length = 1; length <= LONGEST_UNIT && at + 2 * length <= marks.length; length++) {
    let same = 0;
    while (at + length + same < marks.length && marks[at + same] === marks[at + length + same])
      same++;
    const times = Math.floor(same / length) + 1;
    // Hardly any place is one where something repeats.
    if (times < 3 || length * times <= best[0] * best[1]) continue;
    const modular = items.slice(at, at + length).some((item) => item.kind !== "node");
    if (worthwhile(length, times, modular)) best = [length, times];
  }
  return best;
}

/** A short row says more unfolded. */
function worthwhile(length: number, times: number, modular: boolean): boolean {
  if (!modular) return length * times >= 16;
  return length === 1 ? times >= 5 : length * times >= 10;
}

function repeated(units: Box[], call: number): Box {
  let inside = units;
  while (inside.length > 2 * MANY) inside = chunks(inside, call);
  return boxAround("repeat", call, inside);
}

/** Rows of plain ops become runs, whatever stands between them stays. */
function foldRuns(items: Box[], call: number): Box[] {
  const result: Box[] = [];
  let row: Box[] = [];
  const close = (): void => {
    if (row.length < SHORTEST_RUN) result.push(...row);
    else result.push(...split(row, RUN).map((part) => boxAround("run", call, part)));
    row = [];
  };
  for (const item of items) {
    if (item.kind === "node" && item.node!.kind !== "step") row.push(item);
    else {
      close();
      result.push(item);
    }
  }
  close();
  return result;
}

function chunks(items: Box[], call: number): Box[] {
  return split(items, RUN).map((part) => boxAround("run", call, part));
}

/** Parts of nearly equal length, at most `most` each. */
function split(items: Box[], most: number): Box[][] {
  const parts = Math.ceil(items.length / most);
  return Array.from({ length: parts }, (_, n) =>
    items.slice(
      Math.floor((n * items.length) / parts),
      Math.floor(((n + 1) * items.length) / parts),
    ),
  );
}

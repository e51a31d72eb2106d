/** A cell that still runs, in words. */

import { counted } from "../../model/said";
import { severityOf, worse } from "../../model/severity";
import { seconds } from "../../model/shown";
import { shape } from "../editor/marks_dom";
import { placeOf } from "../editor/marks_of";
import { trans } from "../i18n";
import type { Live } from "../kernel/messages";

/** "In [3] runs: 12 steps, 3,400 ops, 4.1 s". */
export function inWords(live: Live): string {
  const cell = live.cell || trans.__("A cell");
  if (live.stopped) {
    return trans.__("%1 is no longer recorded. The report appears when it ends.", cell);
  }
  const steps = live.steps > 0 && counted(live.steps, "step");
  const parts = [steps, counted(live.ops, "op"), seconds(live.seconds)].filter(Boolean);
  return trans.__("%1 runs: %2", cell, parts.join(", "));
}

/** How far a running cell is, and what is certain already; the sign is that of the worst. */
export function inStatus(live: Live): [SVGSVGElement | null, string] {
  const { marks = [] } = live;
  if (!marks.length) return [null, inWords(live)];
  const lines = marks.map((mark) => `${mark.rule} ${placeOf(mark)}`);
  const worst = marks.map((mark) => severityOf(mark.severity)).reduce(worse);
  return [shape(worst), `${inWords(live)} · ${lines.join(", ")}`];
}

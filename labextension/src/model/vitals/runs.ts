/** Cells -> one SVG path a shade: a row of 500 steps is a dozen elements, not 500. */

import type { Cell, Scale, Shade } from "./scale";

export interface Run {
  shade: Shade;
  /** In units of a cell: 1 wide, 1 high. */
  path: string;
}

const ZERO_TOP = 0.42;
const ZERO_HEIGHT = 0.16;

/** Of the columns `from` to `to`, both included; column `from` starts at x = 0. */
export function runsOf(
  cells: readonly Cell[],
  scale: Pick<Scale, "shade">,
  [from, to]: readonly [number, number],
): Run[] {
  const paths = new Map<Shade, string>();
  let start = from;
  for (let n = from; n <= to; n = start) {
    const shade = scale.shade(cells[n] ?? null);
    start = n + 1;
    while (start <= to && scale.shade(cells[start] ?? null) === shade) start++;
    if (shade === "unmeasured") continue;
    paths.set(shade, (paths.get(shade) ?? "") + shape(shade, n - from, start - n));
  }
  return [...paths].map(([shade, path]) => ({ shade, path }));
}

/** An exact zero is a thin line in the middle of its cell. */
function shape(shade: Shade, x: number, width: number): string {
  const [top, height] = shade === "zero" ? [ZERO_TOP, ZERO_HEIGHT] : [0, 1];
  return `M${x} ${top}h${width}v${height}h${-width}z`;
}

/** Diagonals through the cells that are not finite: they are told apart without their colour. */
export function crosses(
  cells: readonly Cell[],
  scale: Pick<Scale, "shade">,
  [from, to]: readonly [number, number],
): string {
  let path = "";
  for (let n = from; n <= to; n++) {
    if (scale.shade(cells[n] ?? null) === "nonfinite") path += `M${n - from} 0l1 1m0 -1l-1 1`;
  }
  return path;
}

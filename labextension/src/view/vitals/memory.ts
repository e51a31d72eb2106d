/** Bytes over the steps: what is held at the end of a step stacked, the peak as a line. */

import { grouped } from "../../model/said";
import { size } from "../../model/shown";
import type { MemoryLine, Vitals } from "../../wire";
import { trans } from "../../words";
import type { Context } from "../context";
import { around, type Child, dotted, el, fill, HOLE } from "../dom";
import { placed } from "../place";
import { svg } from "../svg";

const HEIGHT = 64;

export interface Memory {
  host: HTMLElement;
  /** Say the bytes of a column. */
  at(column: number): void;
}

/** Nothing where no memory was measured. */
export function memory(context: Context, { memory: lines, steps }: Vitals): Memory | null {
  if (!lines.length) return null;
  const stacked = lines.filter(({ label }) => label !== "peak");
  const peak = lines.find(({ label }) => label === "peak");
  const values = lines.map(() => el("span", {}));
  const key = lines.map(({ label }, n) =>
    el(
      "li",
      {},
      values[n]!,
      el("i", { class: `agi-meter agi-bytes-${label}`, "aria-hidden": "true" }),
    ),
  );
  const title = el("h4", {}, trans.__("Memory"));
  const ran = el("p", { class: "agi-peak-op" });
  const most = Math.max(1, ...sums(stacked, steps.length), ...(peak?.values ?? []).map(Number));
  const host = el(
    "div",
    { class: "agi-memory" },
    el("div", { class: "agi-memory-key" }, title, el("ul", {}, ...key)),
    plot(stacked, peak, steps.length, most),
    el("span", { class: "agi-memory-most" }, size(most)),
    peak && ran,
  );
  return {
    host,
    at: (column) => {
      host.style.setProperty("--agi-memory-at", `${(100 * (column + 0.5)) / steps.length}%`);
      title.textContent = trans.__("Memory in step %1", grouped(steps[column]!));
      lines.forEach(({ label, values: bytes }, n) => {
        const here = bytes[column] ?? null;
        values[n]!.textContent =
          `${label} ${here === null ? trans.__("not measured") : size(here)}`;
      });
      if (peak) fill(ran, ...setBy(context, peak, column));
    },
  };
}

/** What ran when the most was alive, and its line. */
function setBy(context: Context, { ops, sites }: MemoryLine, column: number): Child[] {
  const op = ops?.[column];
  if (!op) return [];
  const frame = context.capture.place(sites?.[column] ?? -1);
  const where = frame ? [" ", placed(context, frame.place, { ...frame, cellId: "" })] : [];
  return [...around(trans.__("peak set by %1", HOLE), el("b", {}, dotted(op))), ...where];
}

function sums(lines: MemoryLine[], count: number): number[] {
  return Array.from({ length: count }, (_, n) =>
    lines.reduce((sum, line) => sum + (line.values[n] ?? 0), 0),
  );
}

/** A column a step; what is first in the list is at the bottom. */
function plot(
  stacked: MemoryLine[],
  peak: MemoryLine | undefined,
  count: number,
  most: number,
): HTMLElement {
  const largest = size(Math.max(...sums(stacked, count)));
  const named = peak
    ? trans.__("Memory over the steps: %1 at most, peak %2", largest, size(most))
    : trans.__("Memory over the steps: %1 at most", largest);
  const drawn = svg("svg", {
    viewBox: `0 0 ${count} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": named,
  });
  const up = (bytes: number) => (HEIGHT * bytes) / most;
  const floor = new Array<number>(count).fill(0);
  for (const { label, values } of stacked) {
    let path = "";
    values.forEach((bytes, n) => {
      const height = up(bytes ?? 0);
      if (height > 0) path += `M${n} ${num(HEIGHT - floor[n]!)}v${num(-height)}h1v${num(height)}z`;
      floor[n]! += height;
    });
    drawn.append(svg("path", { class: `agi-area agi-bytes-${label}`, d: path }));
  }
  if (peak) drawn.append(svg("path", { class: "agi-peak", d: line(peak.values, up) }));
  return el("div", { class: "agi-memory-plot" }, drawn, count > 1 && el("i", {}));
}

function line(values: readonly (number | null)[], up: (bytes: number) => number): string {
  return values
    .map((bytes, n) => (bytes === null ? "" : `M${n} ${num(HEIGHT - up(bytes))}h1`))
    .join("");
}

function num(value: number): number {
  return Number(value.toFixed(2));
}

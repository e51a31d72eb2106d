/** One row of the heat map: its label, its cells, and its value at the cell that is read. */

import { crosses, runsOf } from "../../model/vitals/runs";
import { type Scale, said } from "../../model/vitals/scale";
import type { VitalsRow } from "../../wire";
import { button, el } from "../dom";
import { svg } from "../svg";

export interface HeatRow {
  host: HTMLElement;
  /** Say the value of a column; `read` where the row is the one that is read. */
  at(column: number, read: boolean): void;
}

export function heatRow(
  row: VitalsRow,
  scale: Scale,
  columns: readonly [number, number],
  chosen: () => void,
): HeatRow {
  const value = el("span", { class: "agi-vital-value" });
  const cells = columns[0] === columns[1] ? bar(row, scale, columns[0]) : heat(row, scale, columns);
  const name = button(el("bdi", {}, row.label), chosen, {
    class: "agi-link agi-vital-name",
    title: row.label,
    tabindex: "-1",
  });
  const host = el("li", { class: "agi-vital" }, name, cells, value);
  return {
    host,
    at: (column, read) => {
      const cell = row.values[column] ?? null;
      value.textContent = cell === null ? "" : said(cell);
      value.classList.toggle("agi-alarm", typeof cell === "string");
      host.classList.toggle("agi-now", read);
    },
  };
}

function heat(row: VitalsRow, scale: Scale, columns: readonly [number, number]): HTMLElement {
  const [from, to] = columns;
  const drawn = svg("svg", {
    viewBox: `0 0 ${to - from + 1} 1`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  for (const { shade, path } of runsOf(row.values, scale, columns)) {
    drawn.append(svg("path", { class: `agi-shade-${shade}`, d: path }));
  }
  const bad = crosses(row.values, scale, columns);
  if (bad) drawn.append(svg("path", { class: "agi-cross", d: bad }));
  return el("span", { class: "agi-heat" }, drawn);
}

/** A single step is a bar: its length tells more than its colour. */
function bar(row: VitalsRow, scale: Scale, column: number): HTMLElement {
  const cell = row.values[column] ?? null;
  const shade = scale.shade(cell);
  const length = el("i", { class: `agi-vital-bar agi-shade-${shade}` });
  const share = typeof cell === "number" && cell !== 0 ? scale.share(cell) : 0;
  // The smallest value of all still has a bar.
  const shown = shade === "nonfinite" ? 1 : cell ? 0.02 + 0.98 * share : 0;
  length.style.width = `${(100 * shown).toFixed(1)}%`;
  return el("span", { class: "agi-heat agi-heat-bar", "aria-hidden": "true" }, length);
}

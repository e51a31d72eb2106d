/** Modules by steps. One cell is read: the pointer and the arrow keys move it. */

import { grouped } from "../../model/said";
import { type Order, ordered } from "../../model/vitals/order";
import { type Scale, said, scaleOf } from "../../model/vitals/scale";
import type { Quantity, Vitals, VitalsRow } from "../../wire";
import { trans } from "../../words";
import { el, fill } from "../dom";
import { VirtualList } from "../virtual_list";
import { StepAxis } from "./axis";
import { type HeatRow, heatRow } from "./heat_row";
import { legend } from "./legend";

const HEIGHT = 24;
const PAGE = 10;

export interface HeatMapEvents {
  /** A row is wanted in the graph. */
  choose(row: VitalsRow): void;
  /** A link to the line where a row's module runs; null where that is not known. */
  line(row: VitalsRow): HTMLElement | null;
  /** The column that is read. */
  moved(column: number): void;
  said(text: string): void;
}

export class HeatMap {
  readonly host = el("div", { class: "agi-heat-map" });
  columns: [number, number];
  shown: number[] = [];
  scale: Scale;
  #order: Order = "module";
  #text = "";
  #column: number;
  /** Place in `shown`. */
  #place = 0;
  readonly #axis: StepAxis;
  readonly #drawn = new Map<number, HeatRow>();
  readonly #readout = el("p", { class: "agi-readout", "aria-hidden": "true" });
  /** The line of the row that is read. */
  readonly #line = el("span", { class: "agi-readout-line" });
  #lineOf = "";
  #list: VirtualList;

  constructor(
    readonly vitals: Vitals,
    public quantity: Quantity,
    private readonly events: HeatMapEvents,
  ) {
    this.columns = [0, vitals.steps.length - 1];
    this.#column = this.#opening();
    this.scale = scaleOf(quantity);
    this.#axis = new StepAxis(vitals.steps, (from, to) => this.show({ columns: [from, to] }));
    this.#list = this.#made();
    this.show({});
  }

  /** Change what is shown; the rest stays as it is. */
  show(
    change: Partial<{ quantity: Quantity; order: Order; text: string; columns: [number, number] }>,
  ): void {
    const row = this.quantity.rows[this.shown[this.#place] ?? -1];
    this.quantity = change.quantity ?? this.quantity;
    this.#order = change.order ?? this.#order;
    this.#text = change.text ?? this.#text;
    this.columns = change.columns ?? this.columns;
    const [from, to] = this.columns;
    this.#column = Math.min(Math.max(this.#column, from), to);
    this.scale = scaleOf(this.quantity);
    this.shown = ordered(this.quantity, this.#order, this.#text, this.columns);
    const same = this.shown.findIndex((n) => this.quantity.rows[n]!.label === row?.label);
    this.#place = change.order ? 0 : Math.max(same, 0);
    this.#axis.show(this.columns);
    this.#list = this.#made();
    const empty = el("p", { class: "agi-empty" }, trans.__("No module matches."));
    fill(
      this.host,
      legend(this.scale),
      el("div", { class: "agi-reading" }, this.#readout, this.#line),
      this.vitals.steps.length > 1 && this.#axis.host,
      this.shown.length ? this.#list.host : empty,
    );
    this.#mark();
  }

  /** What one looks for first: the first step with a NaN or an infinity, else the last step. */
  #opening(): number {
    const { steps } = this.vitals;
    const bad = (_: number, n: number) =>
      this.quantity.rows.some((row) => typeof row.values[n] === "string");
    const first = steps.findIndex(bad);
    return first < 0 ? steps.length - 1 : first;
  }

  #made(): VirtualList {
    this.#drawn.clear();
    const list = new VirtualList(this.#title(), this.shown.length, HEIGHT, (place) => {
      const row = this.quantity.rows[this.shown[place]!]!;
      const made = heatRow(row, this.scale, this.columns, () => this.events.choose(row));
      this.#drawn.set(place, made);
      made.at(this.#column, place === this.#place);
      const heat = made.host.querySelector<HTMLElement>(".agi-heat")!;
      heat.addEventListener("pointermove", (event) => this.#move(place, this.#under(heat, event)));
      heat.addEventListener("click", () => this.events.choose(row));
      return made.host;
    });
    list.host.classList.add("agi-vital-rows");
    this.host.style.setProperty("--agi-rows", String(this.shown.length));
    list.host.addEventListener("keydown", (event) => this.#key(event));
    return list;
  }

  #title(): string {
    return trans.__(
      "%1, modules by steps: arrow keys read a cell, Enter shows its module in the graph",
      this.quantity.title,
    );
  }

  #under(heat: HTMLElement, event: PointerEvent): number {
    const [from, to] = this.columns;
    const { left, width } = heat.getBoundingClientRect();
    const at = width > 0 ? (event.clientX - left) / width : 0;
    return from + Math.floor(at * (to - from + 1));
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [from, to] = this.columns;
    const place = this.#place;
    const column = this.#column;
    const last = this.shown.length - 1;
    const moves: Record<string, [number, number]> = {
      ArrowUp: [place - 1, column],
      ArrowDown: [place + 1, column],
      PageUp: [place - PAGE, column],
      PageDown: [place + PAGE, column],
      ArrowLeft: [place, column - 1],
      ArrowRight: [place, column + 1],
      Home: event.shiftKey ? [0, column] : [place, from],
      End: event.shiftKey ? [last, column] : [place, to],
    };
    const move = moves[event.key];
    const row = this.quantity.rows[this.shown[place] ?? -1];
    if (move) {
      this.#move(...move);
      this.#list.reveal(this.#place);
      this.events.said(this.#reading());
    } else if (event.key === "Enter" && row && event.target === this.#list.host) {
      this.events.choose(row);
    } else return;
    event.preventDefault();
  }

  #move(place: number, column: number): void {
    const [from, to] = this.columns;
    this.#place = Math.min(Math.max(place, 0), this.shown.length - 1);
    this.#column = Math.min(Math.max(column, from), to);
    this.#mark();
  }

  #mark(): void {
    const [from, to] = this.columns;
    const width = 100 / (to - from + 1);
    this.host.style.setProperty("--agi-column", `${(this.#column - from) * width}%`);
    this.host.style.setProperty("--agi-column-width", `${width}%`);
    for (const [place, row] of this.#drawn) row.at(this.#column, place === this.#place);
    this.#readout.textContent = this.#reading();
    const row = this.quantity.rows[this.shown[this.#place] ?? -1];
    if (row?.path !== this.#lineOf) {
      this.#lineOf = row?.path ?? "";
      fill(this.#line, row ? this.events.line(row) : null);
    }
    this.events.moved(this.#column);
  }

  /** The cell that is read, in words. */
  #reading(): string {
    const row = this.quantity.rows[this.shown[this.#place] ?? -1];
    if (!row) return "";
    const step = grouped(this.vitals.steps[this.#column]!);
    const value = said(row.values[this.#column] ?? null);
    const { label, peak } = row;
    if (this.vitals.steps.length < 2 || !peak || peak < 0)
      return trans.__("%1, step %2: %3", label, step, value);
    return trans.__(
      "%1, step %2: %3, largest %4 in step %5",
      label,
      step,
      value,
      said(peak),
      grouped(row.peak_step),
    );
  }
}

/** The table of parameters: sorted, filtered, folded by module. */

import type { Row } from "../model/mismatch";
import { counted } from "../model/said";
import { size } from "../model/shown";
import { trans } from "../words";
import { button, dotted, el, fill } from "./dom";
import { compare, type Key, value, words } from "./placement_order";
import { line, type Origin } from "./placement_row";

const heads = (): [Key, string][] => [
  ["name", trans.__("parameter")],
  ["shape", trans.__("shape")],
  ["dtype", trans.__("dtype")],
  ["device", trans.__("device")],
  ["gradient", trans.__("gradient")],
  ["optimizer", trans.__("optimizer")],
  ["state", trans.__("state")],
  ["total", trans.__("bytes")],
];
const MOST = 600;
const OPEN_AT_FIRST = 3;

/** What a row does, and what is known of its gradient. */
export interface About {
  chosen(row: Row): void;
  origin(row: Row): Origin | null;
}

export class PlacementTable {
  readonly host = el("div", {
    class: "agi-table",
    tabindex: "0",
    role: "group",
    "aria-label": trans.__("Placement"),
  });
  #sort: Key | "" = "";
  #down = false;
  #text = "";
  #wrong = false;
  #open = new Set<string>();
  #marked = new Set<number>();
  #opened = new Set<number>();

  constructor(
    private readonly rows: Row[],
    private folded: boolean,
    private readonly about: About,
  ) {
    const mismatched = new Set(rows.filter((row) => row.problems.length).map((row) => row.module));
    if (mismatched.size <= OPEN_AT_FIRST) this.#open = mismatched;
    const first = rows.filter((row) => row.problems.length).slice(0, OPEN_AT_FIRST);
    this.#opened = new Set(first.map((row) => row.index));
    this.#draw();
  }

  filter(text: string): void {
    this.#text = text.toLowerCase();
    this.#draw();
  }

  fold(on: boolean): void {
    this.folded = on;
    this.#draw();
  }

  onlyWrong(on: boolean): void {
    this.#wrong = on;
    this.#draw();
  }

  /** Show every tensor of every row. */
  entries(on: boolean): void {
    this.#opened = new Set(on ? this.rows.map((row) => row.index) : []);
    this.#draw();
  }

  /** Show which rows belong to the selected nodes. */
  mark(tensors: Set<number>): void {
    this.#marked = tensors;
    for (const row of this.rows) if (tensors.has(row.tensor)) this.#open.add(row.module);
    this.#draw();
    this.reveal();
  }

  /** Scroll to the marked row. */
  reveal(): void {
    this.host.querySelector(".agi-selected")?.scrollIntoView?.({ block: "nearest" });
  }

  #draw(): void {
    const rows = this.#shown();
    const body = this.folded
      ? this.#grouped(rows)
      : rows.slice(0, MOST).flatMap((row) => this.#line(row));
    const table = el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...heads().map(([key, text]) => this.#head(key, text)))),
      el("tbody", {}, ...body),
    );
    const more = !this.folded && rows.length > MOST;
    fill(
      this.host,
      table,
      !rows.length && el("p", { class: "agi-empty" }, trans.__("No parameter matches.")),
      more &&
        el(
          "p",
          { class: "agi-quiet" },
          trans.__("and %1 more: filter or fold", rows.length - MOST),
        ),
    );
  }

  #shown(): Row[] {
    const matching = this.rows.filter(
      (row) => (!this.#wrong || row.problems.length > 0) && words(row).includes(this.#text),
    );
    if (!this.#sort) return matching;
    const key = this.#sort;
    const sorted = [...matching].sort((a, b) => compare(value(a, key), value(b, key)));
    return this.#down ? sorted.reverse() : sorted;
  }

  #head(key: Key, text: string): HTMLElement {
    const state = this.#sort !== key ? "none" : this.#down ? "descending" : "ascending";
    const arrow = this.#sort === key ? (this.#down ? " ▾" : " ▴") : "";
    const click = () => {
      this.#down = this.#sort === key ? !this.#down : key === "total";
      this.#sort = key;
      this.#draw();
      this.host.querySelector<HTMLElement>(`th[data-key="${key}"] button`)?.focus();
    };
    return el(
      "th",
      { scope: "col", "aria-sort": state, "data-key": key },
      button(text + arrow, click, {
        class: "agi-sort",
        "aria-label": trans.__("Sort by %1", text),
      }),
    );
  }

  #grouped(rows: Row[]): HTMLElement[] {
    const groups = new Map<string, Row[]>();
    for (const row of rows) groups.set(row.module, [...(groups.get(row.module) ?? []), row]);
    return [...groups].slice(0, MOST).flatMap(([module, members]) => {
      if (!module || members.length === 1) return members.flatMap((row) => this.#line(row));
      const open = this.#open.has(module);
      return [
        this.#group(module, members, open),
        ...(open ? members.flatMap((row) => this.#line(row, true)) : []),
      ];
    });
  }

  #group(module: string, members: Row[], open: boolean): HTMLElement {
    const mismatches = members.filter((row) => row.problems.length).length;
    const bytes = members.reduce((sum, row) => sum + row.total, 0);
    const click = () => {
      if (open) this.#open.delete(module);
      else this.#open.add(module);
      this.#draw();
      const openers = this.host.querySelectorAll<HTMLElement>("[data-module]");
      const again = [...openers].find((one) => one.dataset.module === module);
      again?.focus();
    };
    const opener = button(dotted(`${open ? "▾" : "▸"} ${module}`), click, {
      class: "agi-link",
      "aria-expanded": String(open),
      "data-module": module,
    });
    return el(
      "tr",
      { class: mismatches ? "agi-group agi-wrong" : "agi-group" },
      el(
        "th",
        { scope: "row", colspan: heads().length - 1 },
        opener,
        el("span", { class: "agi-quiet" }, ` ${counted(members.length, "parameter")}`),
        mismatches > 0 &&
          el("span", { class: "agi-tag agi-alarm" }, `⚠ ${counted(mismatches, "mismatch")}`),
      ),
      el("td", { class: "agi-number" }, size(bytes)),
    );
  }

  #line(row: Row, inner = false): HTMLElement[] {
    const toggled = () => {
      if (!this.#opened.delete(row.index)) this.#opened.add(row.index);
      this.#draw();
      this.host.querySelector<HTMLElement>(`[data-entries="${row.index}"]`)?.focus();
    };
    return line(row, {
      inner,
      marked: this.#marked.has(row.tensor),
      open: this.#opened.has(row.index),
      origin: this.about.origin(row),
      chosen: () => this.about.chosen(row),
      toggled,
    });
  }
}

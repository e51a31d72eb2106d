/** The table of parameters: sorted, filtered, folded by module. */

import type { Entry, Row } from "../model/mismatch";
import { counted, size } from "../model/shown";
import { button, dotted, el, fill } from "./dom";

type Key = "name" | "shape" | "dtype" | "device" | "gradient" | "optimizer" | "state" | "total";
const HEADS: [Key, string][] = [
  ["name", "parameter"],
  ["shape", "shape"],
  ["dtype", "dtype"],
  ["device", "device"],
  ["gradient", "gradient"],
  ["optimizer", "optimizer"],
  ["state", "state"],
  ["total", "bytes"],
];
const MOST = 600;
const OPEN_AT_FIRST = 3;

export class PlacementTable {
  readonly host = el("div", {
    class: "ag-table",
    tabindex: "0",
    role: "group",
    "aria-label": "Placement",
  });
  private sort: Key | "" = "";
  private down = false;
  private text = "";
  private wrong = false;
  private open = new Set<string>();
  private marked = new Set<number>();

  constructor(
    private readonly rows: Row[],
    private folded: boolean,
    private readonly chosen: (row: Row) => void,
  ) {
    const wrong = new Set(rows.filter((row) => row.problems.length).map((row) => row.module));
    if (wrong.size <= OPEN_AT_FIRST) this.open = wrong;
    this.draw();
  }

  filter(text: string): void {
    this.text = text.toLowerCase();
    this.draw();
  }

  fold(on: boolean): void {
    this.folded = on;
    this.draw();
  }

  onlyWrong(on: boolean): void {
    this.wrong = on;
    this.draw();
  }

  /** Show which rows belong to the selected nodes. */
  mark(tensors: Set<number>): void {
    this.marked = tensors;
    for (const row of this.rows) if (tensors.has(row.tensor)) this.open.add(row.module);
    this.draw();
    this.host.querySelector?.(".ag-selected")?.scrollIntoView?.({ block: "nearest" });
  }

  private draw(): void {
    const rows = this.shown();
    const body = this.folded
      ? this.grouped(rows)
      : rows.slice(0, MOST).map((row) => this.line(row));
    const table = el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...HEADS.map(([key, text]) => this.head(key, text)))),
      el("tbody", {}, ...body),
    );
    const more = !this.folded && rows.length > MOST;
    fill(
      this.host,
      table,
      !rows.length && el("p", { class: "ag-empty" }, "No parameter matches."),
      more && el("p", { class: "ag-quiet" }, `and ${rows.length - MOST} more: filter or fold`),
    );
  }

  private shown(): Row[] {
    const found = this.rows.filter(
      (row) => (!this.wrong || row.problems.length > 0) && words(row).includes(this.text),
    );
    if (!this.sort) return found;
    const key = this.sort;
    const sorted = [...found].sort((a, b) => compare(value(a, key), value(b, key)));
    return this.down ? sorted.reverse() : sorted;
  }

  private head(key: Key, text: string): HTMLElement {
    const state = this.sort !== key ? "none" : this.down ? "descending" : "ascending";
    const arrow = this.sort === key ? (this.down ? " ▾" : " ▴") : "";
    const click = () => {
      this.down = this.sort === key ? !this.down : key === "total";
      this.sort = key;
      this.draw();
      this.host.querySelector<HTMLElement>(`th[data-key="${key}"] button`)?.focus();
    };
    return el(
      "th",
      { scope: "col", "aria-sort": state, "data-key": key },
      button(text + arrow, click, { class: "ag-sort", "aria-label": `Sort by ${text}` }),
    );
  }

  private grouped(rows: Row[]): HTMLElement[] {
    const groups = new Map<string, Row[]>();
    for (const row of rows) groups.set(row.module, [...(groups.get(row.module) ?? []), row]);
    return [...groups].slice(0, MOST).flatMap(([module, members]) => {
      if (!module || members.length === 1) return members.map((row) => this.line(row));
      const open = this.open.has(module);
      return [
        this.group(module, members, open),
        ...(open ? members.map((row) => this.line(row, true)) : []),
      ];
    });
  }

  private group(module: string, members: Row[], open: boolean): HTMLElement {
    const wrong = members.filter((row) => row.problems.length).length;
    const bytes = members.reduce((sum, row) => sum + row.total, 0);
    const click = () => {
      if (open) this.open.delete(module);
      else this.open.add(module);
      this.draw();
      const openers = this.host.querySelectorAll<HTMLElement>("[data-module]");
      const again = [...openers].find((one) => one.dataset.module === module);
      again?.focus();
    };
    const opener = button(dotted(`${open ? "▾" : "▸"} ${module}`), click, {
      class: "ag-link",
      "aria-expanded": String(open),
      "data-module": module,
    });
    return el(
      "tr",
      { class: wrong ? "ag-group ag-wrong" : "ag-group" },
      el(
        "th",
        { scope: "row", colspan: HEADS.length - 1 },
        opener,
        el("span", { class: "ag-quiet" }, ` ${counted(members.length, "parameter")}`),
        wrong > 0 && el("span", { class: "ag-tag ag-alarm" }, `⚠ ${counted(wrong, "mismatch")}`),
      ),
      el("td", { class: "ag-number" }, size(bytes)),
    );
  }

  private line(row: Row, inner = false): HTMLElement {
    const marked = this.marked.has(row.tensor);
    const kind = [row.problems.length && "ag-wrong", marked && "ag-selected"]
      .filter(Boolean)
      .join(" ");
    const short = row.name.slice(row.module.length + 1);
    const unlike = (held: string, own: string) => (held === own ? undefined : "ag-unlike");
    const state = row.state.map((entry, n) => [
      n ? ", " : "",
      el("span", { class: apart(entry, row) ? "ag-unlike" : undefined }, stated(entry, row)),
    ]);
    return el(
      "tr",
      { class: kind || undefined, "data-parameter": row.name },
      el(
        "th",
        { scope: "row", class: inner ? "ag-inner" : undefined },
        button(dotted(inner ? short : row.name), () => this.chosen(row), {
          class: "ag-link",
          title: row.name,
          "aria-label": row.name,
          "aria-current": marked && "true",
        }),
        ...row.problems.map((text) => el("span", { class: "ag-tag ag-alarm" }, `⚠ ${text}`)),
      ),
      el("td", {}, row.shape),
      el("td", {}, row.dtype),
      el("td", {}, row.device),
      el(
        "td",
        { class: row.gradient ? unlike(row.gradient.device, row.device) : undefined },
        gradient(row),
      ),
      el("td", {}, row.optimizer || "none"),
      el("td", {}, ...state.flat()),
      el("td", { class: "ag-number" }, size(row.total)),
    );
  }
}

function apart(entry: Entry, row: Row): boolean {
  if (entry.shape === "scalar" && row.shape !== "scalar") return entry.device === "meta";
  return entry.device !== row.device || entry.dtype !== row.dtype;
}

function stated(entry: Entry, row: Row): string {
  const unlike = [
    entry.device !== row.device && entry.device,
    entry.dtype !== row.dtype && entry.dtype,
  ];
  const said = entry.shape === "scalar" && row.shape !== "scalar" ? [unlike[0]] : unlike;
  const kept = said.filter(Boolean);
  return kept.length ? `${entry.name} (${kept.join(", ")})` : entry.name;
}

function gradient(row: Row): string {
  if (!row.requiresGrad) return "frozen";
  if (!row.gradient) return row.reached ? "reached" : "none";
  const unlike = [row.gradient.dtype !== row.dtype && row.gradient.dtype];
  if (row.gradient.device !== row.device) unlike.push(row.gradient.device);
  return ["yes", ...unlike.filter(Boolean)].join(" ");
}

function words(row: Row): string {
  const state = row.state.map((entry) => `${entry.name} ${entry.device} ${entry.dtype}`);
  const own = [row.name, row.shape, row.dtype, row.device, row.optimizer, row.standing];
  return [...own, gradient(row), ...state, ...row.problems].join(" ").toLowerCase();
}

function value(row: Row, key: Key): string | number {
  if (key === "total") return row.total;
  if (key === "gradient") return gradient(row);
  if (key === "state") return row.state.map((entry) => stated(entry, row)).join(", ");
  return row[key];
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

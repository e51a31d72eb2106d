/** One parameter of the placement as rows: a line about it, and beneath it each entry with device, dtype and bytes. */

import type { Entry, Row } from "../model/mismatch";
import { size } from "../model/shown";
import { trans } from "../words";
import { button, dotted, el } from "./dom";

/** Where a gradient came from: of several `losses` it is the sum. */
export interface Origin {
  losses: string;
  drawn: HTMLElement;
}

export interface LineOptions {
  /** The module stands in the row above. */
  inner: boolean;
  marked: boolean;
  open: boolean;
  origin: Origin | null;
  chosen(): void;
  toggled(): void;
}

export function line(row: Row, options: LineOptions): HTMLElement[] {
  const { inner, marked, open } = options;
  const kinds = [row.problems.length && "agi-wrong", marked && "agi-selected"].filter(Boolean);
  const short = row.name.slice(row.module.length + 1);
  const state = row.problems.length
    ? row.problems.map((text) => el("span", { class: "agi-tag agi-alarm" }, `⚠ ${text}`))
    : [row.state.map((entry) => entry.name).join(", ")];
  const choose = (event: Event) => {
    if (!(event.target as Element).closest("button")) options.chosen();
  };
  const made = el(
    "tr",
    { class: kinds.join(" ") || undefined, "data-parameter": row.name, on: { click: choose } },
    el(
      "th",
      { scope: "row", class: inner ? "agi-inner" : undefined },
      button(open ? "▾" : "▸", options.toggled, {
        class: "agi-link agi-opener",
        "aria-expanded": String(open),
        "aria-label": trans.__("Entries of %1", row.name),
        "data-entries": row.index,
      }),
      button(dotted(inner ? short : row.name), options.chosen, {
        class: "agi-link",
        title: row.name,
        "aria-label": row.name,
        "aria-current": marked && "true",
      }),
    ),
    el("td", {}, row.shape),
    el("td", {}, row.dtype),
    el("td", {}, row.device),
    el(
      "td",
      { class: row.gradient && apart(row.gradient, row) ? "agi-unlike" : undefined },
      gradient(row),
      options.origin?.losses && el("span", { class: "agi-quiet" }, ` ${options.origin.losses}`),
    ),
    el("td", {}, row.optimizer || trans.__("none")),
    el("td", { class: "agi-held" }, ...state),
    el("td", { class: "agi-number" }, size(row.total)),
  );
  return open ? [made, ...entries(row, options.origin?.drawn)] : [made];
}

function entries(row: Row, origin: HTMLElement | undefined): HTMLElement[] {
  const parameter: Entry = { ...row, name: trans.__("parameter") };
  const entries = (held: Entry[]) => held.map((entry) => entryOf(entry, row));
  const from =
    origin &&
    el(
      "tr",
      { class: "agi-entry", "data-entry": trans.__("gradient from") },
      el("th", { scope: "row" }, trans.__("gradient from")),
      el("td", { colspan: 7 }, origin),
    );
  return [
    ...entries([parameter, ...(row.gradient ? [row.gradient] : [])]),
    ...(from ? [from] : []),
    ...entries(row.state),
  ];
}

function entryOf(entry: Entry, row: Row): HTMLElement {
  const unlike = (held: string, wanted: string) =>
    apart(entry, row) && held !== wanted ? "agi-unlike" : undefined;
  return el(
    "tr",
    { class: "agi-entry", "data-entry": entry.name },
    el("th", { scope: "row" }, entry.name),
    el("td", {}, entry.shape),
    el("td", { class: unlike(entry.dtype, row.dtype) }, entry.dtype),
    el("td", { class: unlike(entry.device, row.device) }, entry.device),
    el("td", { colspan: 3 }),
    el("td", { class: "agi-number" }, size(entry.nbytes)),
  );
}

/** A step counter may live on the CPU, in a dtype of its own. */
function apart(entry: Entry, row: Row): boolean {
  if (entry.shape === "scalar" && row.shape !== "scalar") return entry.device === "meta";
  return entry.device !== row.device || entry.dtype !== row.dtype;
}

export function stated(entry: Entry, row: Row): string {
  if (!apart(entry, row)) return entry.name;
  const scalar = entry.shape === "scalar" && row.shape !== "scalar";
  const unlike = [
    entry.device !== row.device && entry.device,
    !scalar && entry.dtype !== row.dtype && entry.dtype,
  ].filter(Boolean);
  return `${entry.name} (${unlike.join(", ")})`;
}

export function gradient(row: Row): string {
  if (!row.requiresGrad) return trans.__("frozen");
  if (!row.gradient) return row.reached ? trans.__("reached") : trans.__("none");
  const unlike = [row.gradient.dtype !== row.dtype && row.gradient.dtype];
  if (row.gradient.device !== row.device) unlike.push(row.gradient.device);
  return [trans.__("yes"), ...unlike.filter(Boolean)].join(" ");
}

/** Several ranks: the switch that says whose capture is shown, and what they have together. */

import { severityOf } from "../model/severity";
import type { Ranks } from "../wire";
import { trans } from "../words";
import { SIGNS } from "./answer";
import { button, el } from "./dom";

export type ChooseRank = (rank: number) => void;

/** One button a rank, with the gravest of its findings. */
export function rankSwitch(ranks: Ranks, choose: ChooseRank | null): HTMLElement {
  const buttons = ranks.choices.map(({ rank, said, severity = "", kept }) => {
    const here = rank === ranks.shown;
    const title =
      here || (kept && choose)
        ? trans.__("rank %1: %2", rank, said)
        : trans.__(
            "rank %1: %2; its capture is only in its own process: run the cell again, or merge the ranks' reports",
            rank,
            said,
          );
    return button(`${rank}${severity && ` ${SIGNS[severityOf(severity)]}`}`, () => choose?.(rank), {
      pressed: here,
      disabled: !here && !(kept && choose),
      class: severity && `agi-tone agi-${severity}`,
      title,
      "aria-label": title,
    });
  });
  return el(
    "div",
    { class: "agi-toolbar agi-ranks", role: "group", "aria-label": trans.__("Ranks") },
    el("span", { class: "agi-quiet" }, trans.__("rank")),
    ...buttons,
  );
}

/** A lane and a column for each kind of rank. */
export function together({ lanes, same, said, headers, rows, differences }: Ranks): HTMLElement {
  const marks = (lane: (typeof lanes)[0]): HTMLElement[] =>
    (lane.marks ?? []).map((text, n) =>
      el("span", { class: `agi-mark${n < same ? "" : " agi-apart"}` }, text),
    );
  const cells = (row: string[]): HTMLElement =>
    el("tr", {}, ...row.map((text, n) => el(n ? "td" : "th", {}, text)));
  return el(
    "div",
    { class: "agi-findings" },
    differences.length > 0 && el("h4", {}, trans.__("Where ranks differ")),
    differences.length > 0 &&
      el("ul", {}, ...differences.map((text) => el("li", { class: "agi-apart" }, text))),
    lanes.length > 0 && el("h4", {}, trans.__("Timeline by rank")),
    table(
      trans.__("Timeline by rank"),
      lanes.map((lane) =>
        el(
          "tr",
          {},
          el("th", {}, lane.ranks),
          el(
            "td",
            { class: "agi-held" },
            ...marks(lane),
            lane.ending && el("b", { class: "agi-mark agi-apart" }, lane.ending),
          ),
        ),
      ),
    ),
    rows.length > 0 && el("h4", {}, trans.__("Placement by rank")),
    el("p", { class: "agi-quiet" }, said),
    table(trans.__("Placement by rank"), [el("thead", {}, cells(headers)), ...rows.map(cells)]),
  );
}

function table(name: string, rows: HTMLElement[]): HTMLElement {
  return el(
    "div",
    { class: "agi-table", tabindex: "0", role: "group", "aria-label": name },
    el("table", {}, ...rows),
  );
}

/** One row of the outline. */

import type { Labels } from "../../layout/labels";
import { el } from "../dom";
import { svg } from "../svg";
import { spoken } from "./aria";
import { badge } from "./badge";
import type { Facts } from "./facts";
import type { Row } from "./outline_rows";

export function rowOf({ box, level, open, place, siblings }: Row, labels: Labels, facts: Facts[]) {
  const group = box.children.length > 0;
  const { worst } = box.troubles;
  const [title, ...rest] = labels.lines(box);
  const size = { width: 14, height: 14, viewBox: "-10 -10 20 20", "aria-hidden": "true" };
  const row = el(
    "div",
    {
      class: "agi-outline-row",
      role: "treeitem",
      "aria-level": level,
      "aria-posinset": place,
      "aria-setsize": siblings,
      "aria-label": spoken(box, false, labels, facts),
      "aria-expanded": group ? String(open) : undefined,
    },
    el("span", { class: "agi-twisty", "aria-hidden": "true" }, group ? (open ? "▾" : "▸") : ""),
    worst && svg("svg", size, badge(worst, 0, 0)),
    el("span", { class: "agi-outline-title" }, title!.text),
    " ",
    el("span", { class: "agi-outline-rest" }, rest.map((line) => line.text).join(", ")),
  );
  row.style.paddingLeft = `${4 + 14 * (level - 1)}px`;
  return row;
}

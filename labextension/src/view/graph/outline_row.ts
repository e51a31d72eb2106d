/** One row of the outline. */

import type { Labels } from "../../layout/labels";
import { spoken } from "./aria";
import { badge } from "./badge";
import type { Facts } from "./facts";
import type { Row } from "./outline_rows";
import { svg } from "./svg";

export function rowOf({ box, level, open, place, siblings }: Row, labels: Labels, facts: Facts[]) {
  const row = document.createElement("div");
  row.className = "agi-outline-row";
  row.style.paddingLeft = `${4 + 14 * (level - 1)}px`;
  const group = box.children.length > 0;
  const { worst } = box.troubles;
  const attributes: Record<string, string> = {
    role: "treeitem",
    "aria-level": String(level),
    "aria-posinset": String(place),
    "aria-setsize": String(siblings),
    "aria-label": spoken(box, false, labels, facts),
  };
  if (group) attributes["aria-expanded"] = String(open);
  for (const [name, value] of Object.entries(attributes)) row.setAttribute(name, value);
  const twisty = part("agi-twisty", group ? (open ? "▾" : "▸") : "");
  twisty.setAttribute("aria-hidden", "true");
  row.append(twisty);
  if (worst) {
    const size = { width: 14, height: 14, viewBox: "-10 -10 20 20", "aria-hidden": "true" };
    row.append(svg("svg", size, badge(worst, 0, 0)));
  }
  const [title, ...rest] = labels.lines(box);
  row.append(part("agi-outline-title", title!.text), " ");
  row.append(part("agi-outline-rest", rest.map((line) => line.text).join(", ")));
  return row;
}

function part(name: string, text: string): HTMLElement {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}

/** One box, cut or open frame as SVG. */

import { HEAD } from "../../layout/compose";
import { heightOfLine, type Labels, PAD, TOGGLE } from "../../layout/labels";
import { isLeaf } from "../../layout/leaves";
import type { Item } from "../../layout/scene";
import { trans } from "../../words";
import { svg } from "../svg";
import { spoken } from "./aria";
import { badge, badgeAt, severityOfItem } from "./badge";
import type { Facts } from "./facts";
import { headOf, lookOf, outline, pile, signOf, toneOf } from "./node_style";

export function paintItem(item: Item, labels: Labels, facts: Facts[]): SVGGElement {
  const look = lookOf(item, facts);
  const severity = severityOfItem(item);
  const tone = toneOf(item, look);
  const group = svg("g", {
    class: `agi-item agi-${look}${severity ? ` agi-has-${severity}` : ""}`,
    transform: `translate(${item.x} ${item.y})`,
    style: `--fill:var(--agi-${tone}-fill);--line:var(--agi-${tone}-line)`,
  });
  if (item.cut) {
    paintCut(item, group);
    if (severity) group.append(badge(severity, ...badgeAt(item)));
    return group;
  }
  const box = item.box!;
  group.setAttribute("data-node", box.node ? String(box.node.id) : `box-${box.id}`);
  group.setAttribute("data-item", String(item.id));
  group.setAttribute("role", "button");
  group.setAttribute("tabindex", "-1");
  group.setAttribute("aria-label", spoken(box, item.open, labels, facts));
  if (box.children.length > 0) group.setAttribute("aria-expanded", String(item.open));
  if (item.open) paintHead(item, labels, group);
  else paintClosed(item, labels, facts, group);
  if (severity) group.append(badge(severity, ...badgeAt(item)));
  return group;
}

function paintClosed(item: Item, labels: Labels, facts: Facts[], group: SVGGElement): void {
  const box = item.box!;
  const { width: w, height: h } = item;
  if (box.kind === "repeat" || box.kind === "crowd") {
    group.append(svg("path", { class: "agi-pile", d: pile(w, h) }));
  }
  const leaf = box.node !== null && isLeaf(box.node);
  group.append(svg("path", { class: "agi-shape", d: outline(lookOf(item, facts), leaf, w, h) }));
  const group_ = box.children.length > 0;
  if (group_) group.append(toggle(8, h / 2, false));
  const middle = group_ ? (w + TOGGLE - 4) / 2 : w / 2;
  let y = PAD.y;
  for (const { text, role } of labels.of(box).lines) {
    y += heightOfLine(role);
    // The space parts the lines for whoever reads the text as a whole; it is not drawn.
    group.append(svg("text", { class: `agi-text agi-${role}`, x: middle, y: y - 4 }, text), " ");
  }
}

/** The head of an open box: wires end above it, and go on below it, so that none runs through its name. */
function paintHead(item: Item, labels: Labels, group: SVGGElement): void {
  const { width: w } = item;
  const [title, type] = labels.head(item.box!);
  const wide = labels.width(title, "title");
  group.append(
    svg("path", {
      class: "agi-head",
      d: headOf(w, HEAD),
    }),
    toggle(8, HEAD / 2, true),
    svg("text", { class: "agi-text agi-title agi-start", x: 8 + TOGGLE, y: 16.5 }, title),
    " ",
    svg("text", { class: "agi-text agi-small agi-start", x: 16 + TOGGLE + wide, y: 16.5 }, type),
  );
}

/** A plus or a minus in a square, as in every tree. */
function toggle(x: number, y: number, open: boolean): SVGGElement {
  return svg(
    "g",
    { class: "agi-toggle", transform: `translate(${x} ${y})`, "aria-hidden": "true" },
    svg("rect", { class: "agi-hit", x: -7, y: -12, width: 26, height: 24 }),
    svg("rect", { class: "agi-knob", x: 0, y: -6, width: 12, height: 12, rx: 2.5 }),
    svg("path", { class: "agi-sign", d: signOf(open) }),
  );
}

function paintCut(item: Item, group: SVGGElement): void {
  const { width: w, height: h } = item;
  const modified = item.cut!.kind === "modified";
  // The bar at which gradient stops on its way up.
  const bar = svg("path", { class: "agi-bar", d: `M${w / 2 - 12} ${h + 3}H${w / 2 + 12}` });
  if (!modified) group.append(bar);
  group.append(
    svg("path", { class: "agi-shape", d: outline("cut", false, w, h) }),
    svg("text", { class: "agi-text agi-small", x: w / 2, y: h / 2 + 4 }, item.text),
  );
  group.setAttribute("role", "img");
  const what = modified ? trans.__("modified after it was saved") : trans.__("gradient is cut");
  group.setAttribute("aria-label", `${what}: ${item.cut!.cause}`);
}

export function paintFrame(item: Item, facts: Facts[]): SVGElement {
  const look = facts[item.box!.id]!.tracked ? "" : " agi-frame-still";
  return svg("rect", {
    class: `agi-frame agi-frame-${item.box!.depth % 2}${look}`,
    x: item.x,
    y: item.y,
    width: item.width,
    height: item.height,
    rx: 6,
  });
}

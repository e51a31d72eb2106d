/** What shapes, colours, lines and signs mean, as far as they occur. */

import { hooksIn } from "../../layout/remarks";
import type { Item, Scene } from "../../layout/scene";
import type { Work } from "../../layout/work";
import { SEVERITIES } from "../../model/severity";
import { trans } from "../../words";
import { el } from "../dom";
import { svg } from "../svg";
import { BADGES, badge, severityOfItem } from "./badge";
import type { Facts } from "./facts";
import { type Look, lookOf, MEANING, outline, pile, toneOf } from "./node_style";

/** Size of a legend's picture. */
export const [W, H] = [26, 14];
const LEAF: ReadonlySet<Look> = new Set(["parameter", "frozen"]);

export interface Entry {
  drawn: SVGElement[];
  text: string;
}

/** Each looks at all that is drawn. */
export function* listing(scene: Scene, facts: Facts[]): Work<Entry[]> {
  const closed = scene.items.filter((item) => !item.open);
  const entries: Entry[] = [];
  for (const part of [boxes, wires, regions, severities, signs]) {
    entries.push(...part({ scene, closed, facts }));
    yield;
  }
  return entries;
}

interface Drawn {
  scene: Scene;
  closed: Item[];
  facts: Facts[];
}

export function drawLegend(host: HTMLElement, entries: Entry[]): void {
  host.replaceChildren(...entries.map(inPage));
}

function boxes({ closed, facts }: Drawn): Entry[] {
  const first = new Map<Look, Item>();
  for (const item of closed) {
    const look = lookOf(item, facts);
    if (!first.has(look)) first.set(look, item);
  }
  const entries: Entry[] = [];
  for (const look of Object.keys(MEANING) as Look[]) {
    const item = first.get(look);
    if (!item) continue;
    const drawn: SVGElement[] = [shape(look, toneOf(item, look))];
    if (item.cut) drawn.push(sign(look === "modified" ? "v" : "✂", "small"));
    entries.push({ drawn, text: MEANING[look]() });
  }
  if (closed.some((item) => item.box?.kind === "repeat")) {
    const piled = svg("path", { class: "agi-pile", d: pile(W - 6, H - 6) });
    entries.push({
      drawn: [piled, shape("module", "module", W - 6, H - 6)],
      text: trans.__("repeated"),
    });
  }
  return entries;
}

function wires({ scene: { wires } }: Drawn): Entry[] {
  const kinds = new Set(wires.map((wire) => wire.kind));
  const entries: Entry[] = [];
  if (kinds.has("gradient"))
    entries.push({ drawn: [wire("gradient")], text: trans.__("gradient flows back") });
  if (kinds.has("data")) entries.push({ drawn: [wire("data")], text: trans.__("value only") });
  if (kinds.has("modified"))
    entries.push({ drawn: [wire("modified")], text: trans.__("saved, then modified") });
  if (kinds.has("severed"))
    entries.push({ drawn: [wire("severed")], text: trans.__("after a cut") });
  if (wires.some((one) => one.hot)) {
    entries.push({
      drawn: [wire("gradient agi-hot")],
      text: trans.__("gradient path of the selection"),
    });
  }
  return entries;
}

function regions({ scene, facts }: Drawn): Entry[] {
  const names = new Set<string>();
  for (const { box } of scene.items) if (box) names.add(facts[box.id]!.region);
  names.delete("");
  const lines = "M0 8L8 0M4 14L18 0M14 14L26 2M24 14L26 12";
  return [...names].map((region) => ({
    drawn: [svg("path", { class: "agi-hatch", d: lines })],
    text: trans.__("under %1", region),
  }));
}

function severities({ closed }: Drawn): Entry[] {
  const present = new Set(closed.map(severityOfItem));
  return SEVERITIES.filter((severity) => present.has(severity)).map((severity) => ({
    drawn: [badge(severity, W / 2, H / 2)],
    text: BADGES[severity].meaning(),
  }));
}

/** Signs in front of what boxes say. */
function signs({ closed }: Drawn): Entry[] {
  const some = (fits: (item: Item) => boolean): boolean => closed.some(fits);
  const entries: Entry[] = [];
  if (some(({ box }) => !!box && box.troubles.failed > 0)) {
    entries.push({ drawn: [sign("✕", "error")], text: trans.__("backward failed") });
  }
  if (some(({ box }) => !!box && box.troubles.modified > 0)) {
    entries.push({ drawn: [sign("v0→1", "error")], text: trans.__("saved tensor modified later") });
  }
  if (some(({ box }) => !!box && hooksIn(box) > 0)) {
    entries.push({ drawn: [sign("↪", "note")], text: trans.__("hook") });
  }
  if (some(({ box }) => !!box && (box.holdsAgain || !!box.node?.recomputed))) {
    entries.push({ drawn: [sign("↻", "note")], text: trans.__("computed during backward") });
  }
  return entries;
}

function inPage({ drawn, text }: Entry): HTMLElement {
  const [width, height] = [W + 4, H + 4];
  const size = { width, height, viewBox: `-2 -2 ${width} ${height}`, "aria-hidden": "true" };
  return el("span", { class: "agi-legend-entry" }, svg("svg", size, ...drawn), text);
}

function shape(look: Look, tone: string, w = W, h = H): SVGElement {
  const style = `--fill:var(--agi-${tone}-fill);--line:var(--agi-${tone}-line)`;
  const d = outline(look, LEAF.has(look), w, h);
  return svg("path", { class: `agi-shape agi-${look}`, style, d });
}

function sign(text: string, role: string): SVGElement {
  return svg("text", { class: `agi-text agi-${role}`, x: W / 2, y: H / 2 + 4 }, text);
}

function wire(kind: string): SVGElement {
  const way = svg("path", { class: "agi-way", d: `M0 ${H / 2}H${W - 6}` });
  const tip = svg("path", { class: "agi-tip", d: `M${W} ${H / 2}l-6 -3.5v7Z` });
  return svg("g", { class: `agi-wire agi-wire-${kind}` }, way, tip);
}

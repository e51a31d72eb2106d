/** The whole picture as a file of its own: title, legend, every colour and font written out, on white paper. */

import type { Labels } from "../../layout/labels";
import type { Scene } from "../../layout/scene";
import { atOnce } from "../../layout/work";
import { el } from "../dom";
import { svg } from "../svg";
import { Camera } from "./camera";
import type { Facts } from "./facts";
import { H, listing, W } from "./legend";
import { SvgLayer } from "./svg_layer";

const WRITTEN = [
  ...["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap"],
  ...["fill-opacity", "opacity", "font-family", "font-size", "font-weight", "text-anchor"],
  "paint-order",
];
/** What only the page needs. */
const OF_THE_PAGE = [
  ...["class", "style", "tabindex", "aria-expanded", "aria-pressed", "aria-hidden"],
  ...["data-item", "data-node", "role"],
];
const NARROWEST = 420;
const HEADER = 48;
const LINE = 22;
const EDGE = 24;

export interface Print {
  scene: Scene;
  labels: Labels;
  facts: Facts[];
  /** The first line is the title. */
  heading: string[];
}

export function standalone(host: HTMLElement, print: Print): string {
  const { scene, labels, facts, heading } = print;
  const layer = new SvgLayer(labels, facts);
  const camera = new Camera(() => {});
  [camera.width, camera.height] = [scene.width, scene.height];
  layer.cull(scene, camera);
  const width = Math.max(scene.width, NARROWEST);
  const left = (width - scene.width) / 2;
  const [legend, rows] = legendIn(width, print);
  const below = HEADER + scene.height;
  const height = below + rows * LINE + EDGE;
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  const picture = svg(
    "svg",
    { ...size, role: "img", "aria-label": heading.join(", ") },
    svg("title", {}, heading.join(", ")),
    svg("rect", { class: "agi-sheet", width, height }),
    svg("g", { class: "agi-heading" }, ...headingIn(heading)),
    svg("g", { transform: `translate(${left} ${HEADER})` }, ...layer.root.childNodes),
    svg("g", { transform: `translate(0 ${below})` }, ...legend),
  );
  // Styles are known only of what is in the page.
  const paper = el("div", { class: "agi-print" }, picture);
  host.append(paper);
  writeStyles(picture);
  paper.remove();
  return new XMLSerializer().serializeToString(picture);
}

function headingIn([title, ...rest]: string[]): SVGElement[] {
  const lines = [
    svg("text", { class: "agi-text agi-title agi-start", x: EDGE, y: 24 }, title ?? ""),
  ];
  const small = { class: "agi-text agi-small agi-start", x: EDGE, y: 40 };
  if (rest.length > 0) lines.push(svg("text", small, rest.join(" · ")));
  return lines;
}

/** The legend in rows as wide as the picture, and how many there are. */
function legendIn(width: number, { scene, labels, facts }: Print): [SVGElement[], number] {
  let [x, row] = [EDGE, 0];
  const made = atOnce(listing(scene, facts)).map(({ drawn, text }) => {
    const wide = W + 8 + labels.width(text, "small") + 16;
    if (x > EDGE && x + wide > width) [x, row] = [EDGE, row + 1];
    const y = row * LINE;
    const label = svg("text", { class: "agi-text agi-small agi-start", x: W + 8, y: H - 3 }, text);
    const entry = svg("g", { transform: `translate(${x} ${y})` }, ...drawn, label);
    x += wide;
    return entry;
  });
  return [made, made.length > 0 ? row + 1 : 0];
}

function writeStyles(picture: SVGSVGElement): void {
  // The classes of an element and of its parent decide how it looks, and the colours that it was given.
  const valuesOf = new Map<string, [string, string][]>();
  for (const element of picture.querySelectorAll<SVGElement>("path, rect, text")) {
    const parent = element.parentElement!;
    const key = [element.tagName, ...[element, parent].flatMap(lookedAt)].join(" < ");
    let values = valuesOf.get(key);
    if (!values) {
      const style = getComputedStyle(element);
      values = WRITTEN.map((name): [string, string] => [name, style.getPropertyValue(name)]);
      valuesOf.set(key, values);
    }
    for (const [name, value] of values) {
      const reference = element.getAttribute(name)?.startsWith("url");
      if (value && !reference) element.setAttribute(name, value);
    }
  }
  for (const hit of picture.querySelectorAll(".agi-hit")) hit.remove();
  for (const element of picture.querySelectorAll("*")) {
    for (const name of OF_THE_PAGE) element.removeAttribute(name);
  }
}

const lookedAt = (element: Element): (string | null)[] => [
  element.getAttribute("class"),
  element.getAttribute("style"),
];

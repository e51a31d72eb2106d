/** The whole picture as a file of its own: every colour and font written out, nothing left to a style sheet. */

import type { Labels } from "../../layout/labels";
import type { Scene } from "../../layout/scene";
import { Camera } from "./camera";
import type { Facts } from "./facts";
import { SvgLayer } from "./svg_layer";

const WRITTEN = [
  ...[
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linejoin",
    "fill-opacity",
    "opacity",
  ],
  ...["font-family", "font-size", "font-weight", "text-anchor"],
];

export function standalone(
  host: HTMLElement,
  scene: Scene,
  labels: Labels,
  facts: Facts[],
): string {
  const layer = new SvgLayer(labels, facts);
  const camera = new Camera(() => {});
  [camera.width, camera.height] = [scene.width, scene.height];
  // Styles are known only of what is in the page.
  host.append(layer.root);
  layer.cull(scene, camera);
  const picture = layer.root;
  picture.setAttribute("viewBox", `0 0 ${scene.width} ${scene.height}`);
  picture.setAttribute("width", String(scene.width));
  picture.setAttribute("height", String(scene.height));
  const paper = getComputedStyle(host).getPropertyValue("--ai-paper").trim() || "#fff";
  // The class of an element and of its parent decide how it looks.
  const known = new Map<string, [string, string][]>();
  for (const element of picture.querySelectorAll<SVGElement>("path, rect, text")) {
    const parent = element.parentElement!;
    const key = `${element.tagName} ${element.getAttribute("class")} < ${parent.getAttribute("class")}`;
    let values = known.get(key);
    if (!values) {
      const style = getComputedStyle(element);
      values = WRITTEN.map((name): [string, string] => [name, style.getPropertyValue(name)]);
      known.set(key, values);
    }
    for (const [name, value] of values) {
      const own = element.getAttribute(name)?.startsWith("url");
      if (value && !own) element.setAttribute(name, value);
    }
  }
  for (const element of picture.querySelectorAll("*")) {
    for (const name of [
      "class",
      "style",
      "tabindex",
      "aria-expanded",
      "aria-pressed",
      "data-item",
      "role",
    ]) {
      element.removeAttribute(name);
    }
  }
  for (const hit of picture.querySelectorAll("[fill='none'][stroke='none']")) hit.remove();
  picture.removeAttribute("class");
  picture.style.background = paper;
  picture.remove();
  return new XMLSerializer().serializeToString(picture);
}

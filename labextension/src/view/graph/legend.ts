/** What shapes, colours and lines mean, as far as they occur. */

import type { Scene } from "../../layout/scene";
import type { Facts } from "./facts";
import { isTroubled, type Look, lookOf, MEANING, outline, pile } from "./looks";
import { svg } from "./svg";

const [W, H] = [26, 14];
const LEAF: ReadonlySet<Look> = new Set(["parameter", "frozen"]);

export function drawLegend(host: HTMLElement, scene: Scene, facts: Facts[]): void {
  const looks = new Set(
    scene.items.filter((item) => !item.open).map((item) => lookOf(item, facts)),
  );
  const kinds = new Set(scene.wires.map((wire) => wire.kind));
  const entries: [SVGElement[], string][] = [];
  for (const look of Object.keys(MEANING) as Look[]) {
    if (looks.has(look)) entries.push([[shape(look)], MEANING[look]]);
  }
  if (scene.items.some((item) => !item.open && item.box?.kind === "repeat")) {
    entries.push([
      [svg("path", { class: "ai-pile", d: pile(W - 6, H - 6) }), shape("module", W - 6, H - 6)],
      "repeated",
    ]);
  }
  if (scene.items.some(isTroubled)) {
    entries.push([[svg("g", { class: "ai-trouble" }, shape("op"))], "something went wrong here"]);
  }
  if (kinds.has("gradient")) entries.push([wire("gradient"), "gradient comes back"]);
  if (kinds.has("data")) entries.push([wire("data"), "value only"]);
  if (kinds.has("severed")) entries.push([wire("severed"), "after a cut"]);
  const regions = new Set(
    scene.items
      .map((item) => (item.box ? facts[item.box.id]!.region : ""))
      .filter((region) => region),
  );
  for (const region of regions) {
    const lines = "M0 8L8 0M4 14L18 0M14 14L26 2M24 14L26 12";
    entries.push([[svg("path", { class: "ai-hatch", d: lines })], `under ${region}`]);
  }
  host.replaceChildren(...entries.map(([drawn, text]) => entry(drawn, text)));
}

function entry(drawn: SVGElement[], text: string): HTMLElement {
  const made = document.createElement("span");
  made.className = "ai-legend-entry";
  const picture = svg(
    "svg",
    { width: W + 4, height: H + 4, viewBox: `-2 -2 ${W + 4} ${H + 4}` },
    ...drawn,
  );
  picture.setAttribute("aria-hidden", "true");
  made.append(picture, text);
  return made;
}

function shape(look: Look, w = W, h = H): SVGElement {
  const style = `--fill:var(--ai-${look}-fill);--line:var(--ai-${look}-line)`;
  return svg("path", {
    class: `ai-shape ai-${look}`,
    style,
    d: outline(look, LEAF.has(look), w, h),
  });
}

function wire(kind: string): SVGElement[] {
  const way = svg("path", { class: "ai-way", d: `M0 ${H / 2}H${W - 6}` });
  const tip = svg("path", { class: "ai-tip", d: `M${W} ${H / 2}l-6 -3.5v7Z` });
  return [svg("g", { class: `ai-wire ai-wire-${kind}` }, way, tip)];
}

/** Keeps in the SVG what can be seen, and a margin around it. */

import type { Labels } from "../../layout/labels";
import type { Item, Scene, Wire } from "../../layout/scene";
import { type Camera, overlap, type Rect } from "./camera";
import type { Facts } from "./facts";
import { paintFrame, paintItem, paintRegion } from "./paint_item";
import { svg } from "./svg";
import { tipsOf, wayOf } from "./ways";

/** How much of what is only near is made in one frame of a movement. */
const AT_ONCE = 40;

let hatches = 0;

export class SvgLayer {
  readonly root: SVGSVGElement;
  /** The painted boxes, by id. */
  readonly items = new Map<number, SVGGElement>();
  readonly wires = new Map<Wire, SVGGElement>();
  private readonly stage = svg("g");
  private readonly layers = ["regions", "frames", "wires", "items"].map((name) =>
    svg("g", { class: `ai-${name}` }),
  );
  private readonly hatch = `ai-hatch-${++hatches}`;
  /** All that is near is painted. */
  complete = true;
  private painted: Rect | null = null;
  private readonly backs = new Map<number, SVGElement[]>();

  constructor(
    private readonly labels: Labels,
    private readonly facts: Facts[],
  ) {
    const lines = svg("path", { class: "ai-hatch", d: "M-2 2L2 -2M0 8L8 0M6 10L10 6" });
    const size = { width: 8, height: 8, patternUnits: "userSpaceOnUse" };
    const pattern = svg("pattern", { id: this.hatch, ...size }, lines);
    this.stage.append(...this.layers);
    this.root = svg("svg", { class: "ai-svg" }, svg("defs", {}, pattern), this.stage);
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Graph");
  }

  clear(): void {
    this.items.clear();
    this.wires.clear();
    this.backs.clear();
    this.painted = null;
    for (const layer of this.layers) layer.replaceChildren();
  }

  move(camera: Camera): void {
    this.stage.setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.k})`);
  }

  /**
   * Adds and removes what came into sight or left it; true if anything did. While `moving`, what is only near
   * comes bit by bit.
   */
  cull(scene: Scene, camera: Camera, margin = 0.5, moving = false): boolean {
    const seen = camera.seen;
    const p = this.painted;
    if (
      p &&
      p.left <= seen.left &&
      p.right >= seen.right &&
      p.top <= seen.top &&
      p.bottom >= seen.bottom
    ) {
      // Zoomed far in: what was painted for the distance would only slow the browser down.
      if ((p.right - p.left) / (seen.right - seen.left) < 4) return false;
    }
    const [w, h] = [(seen.right - seen.left) * margin, (seen.bottom - seen.top) * margin];
    const rect = {
      left: seen.left - w,
      top: seen.top - h,
      right: seen.right + w,
      bottom: seen.bottom + h,
    };
    let room = AT_ONCE;
    for (const item of scene.items) {
      const wanted = overlap(bounds(item), rect);
      if (wanted === this.items.has(item.id)) continue;
      if (!wanted) this.remove(item);
      else if (!moving || overlap(bounds(item), seen) || room-- > 0) this.add(item);
    }
    for (const wire of scene.wires) {
      const wanted = overlap(wire, rect);
      if (wanted === this.wires.has(wire)) continue;
      if (wanted && moving && !overlap(wire, seen) && room-- <= 0) continue;
      if (wanted) {
        const made = paintWire(wire);
        this.wires.set(wire, made);
        this.layers[2]!.append(made);
      } else {
        this.wires.get(wire)!.remove();
        this.wires.delete(wire);
      }
    }
    this.complete = room >= 0;
    this.painted = this.complete ? rect : null;
    return true;
  }

  private remove(item: Item): void {
    this.items.get(item.id)!.remove();
    this.items.delete(item.id);
    for (const back of this.backs.get(item.id) ?? []) back.remove();
    this.backs.delete(item.id);
  }

  private add(item: Item): void {
    const made = paintItem(item, this.labels, this.facts);
    this.items.set(item.id, made);
    this.layers[3]!.append(made);
    const backs: SVGElement[] = [];
    if (startsRegion(item, this.facts)) {
      backs.push(paintRegion(item, this.hatch));
      this.layers[item.box!.depth > 1 ? 1 : 0]!.append(backs[0]!);
    }
    if (item.open) {
      const frame = paintFrame(item, this.facts);
      backs.push(frame);
      this.layers[1]!.append(frame);
    }
    this.backs.set(item.id, backs);
  }
}

/** The outermost box of a grad mode carries its shade. */
export function startsRegion(item: Item, facts: Facts[]): boolean {
  const box = item.box;
  if (!box) return false;
  const own = facts[box.id]!.region;
  return own !== "" && (!box.parent || facts[box.parent.id]!.region !== own);
}

export const bounds = (item: Item): Rect => ({
  left: item.x,
  top: item.y,
  right: item.x + item.width,
  bottom: item.y + item.height,
});

function paintWire(wire: Wire): SVGGElement {
  const how = `ai-wire ai-wire-${wire.kind}${wire.hot ? " ai-hot" : ""}${wire.live ? " ai-live" : ""}`;
  const group = svg("g", { class: how }, svg("path", { class: "ai-way", d: wayOf(wire) }));
  const tips = tipsOf(wire);
  if (tips) group.append(svg("path", { class: "ai-tip", d: tips }));
  return group;
}

/** Keeps in the SVG what can be seen, and a margin around it. */

import type { Labels } from "../../layout/labels";
import type { Item, Scene, Wire } from "../../layout/scene";
import { type Camera, overlap, type Rect } from "./camera";
import type { Facts } from "./facts";
import { paintFrame, paintItem, paintRegion } from "./paint_item";
import { svg } from "./svg";
import { tipsOf, wayOf } from "./ways";

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

  /** Adds and removes what came into sight or left it; true if anything did. */
  cull(scene: Scene, camera: Camera): boolean {
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
      if ((p.right - p.left) / (seen.right - seen.left) < 6) return false;
    }
    const [w, h] = [(seen.right - seen.left) / 2, (seen.bottom - seen.top) / 2];
    const rect = {
      left: seen.left - w,
      top: seen.top - h,
      right: seen.right + w,
      bottom: seen.bottom + h,
    };
    this.painted = rect;
    for (const item of scene.items) this.paintIf(item, overlap(bounds(item), rect));
    for (const wire of scene.wires) {
      const there = this.wires.get(wire);
      if (!overlap(wire, rect)) {
        there?.remove();
        this.wires.delete(wire);
      } else if (!there) {
        const made = paintWire(wire);
        this.wires.set(wire, made);
        this.layers[2]!.append(made);
      }
    }
    return true;
  }

  private paintIf(item: Item, wanted: boolean): void {
    const there = this.items.get(item.id);
    if (wanted === (there !== undefined)) return;
    if (there) {
      there.remove();
      this.items.delete(item.id);
      for (const back of this.backs.get(item.id) ?? []) back.remove();
      this.backs.delete(item.id);
      return;
    }
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

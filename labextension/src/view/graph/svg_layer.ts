/** Keeps in the SVG what can be seen, and a margin around it. */

import type { Labels } from "../../layout/labels";
import type { Item, Scene, Wire } from "../../layout/scene";
import { trans } from "../../words";
import { svg } from "../svg";
import { growth } from "./badge";
import { type Camera, overlap, type Rect } from "./camera";
import type { Facts } from "./facts";
import { paintFrame, paintItem } from "./paint_item";
import { regionOf, startsRegion } from "./regions";
import { bounds } from "./where";
import { tipsOf, wayOf } from "./wire_paths";

/** How much of what is only near is made in one frame of a movement. */
const AT_ONCE = 40;

/** A layer that is moved farther than this is larger than a browser likes. */
const FAR = 1500;

/** From this scale on what wires carry can be read. */
const NEAR = 0.9;

let hatches = 0;

export class SvgLayer {
  readonly root: SVGSVGElement;
  /** The painted boxes, by id. */
  readonly items = new Map<number, SVGGElement>();
  readonly wires = new Map<Wire, SVGGElement>();
  readonly #stage = svg("g");
  readonly #layers = ["frames", "regions", "wires", "items"].map((name) =>
    svg("g", { class: `agi-${name}` }),
  );
  readonly #hatch = `agi-hatch-${++hatches}`;
  /** All that is near is painted. */
  complete = true;
  #painted: Rect | null = null;
  /** Where the picture stands within the layer. */
  #at: { k: number; x: number; y: number } | null = null;
  readonly #backs = new Map<number, SVGElement[]>();
  /** Only a few boxes are painted, over the canvas. */
  #sparse = false;

  constructor(
    private readonly labels: Labels,
    private readonly facts: Facts[],
  ) {
    const tint = svg("rect", { class: "agi-tint", width: 8, height: 8 });
    const lines = svg("path", { class: "agi-hatch", d: "M-2 2L2 -2M0 8L8 0M6 10L10 6" });
    const size = { width: 8, height: 8, patternUnits: "userSpaceOnUse" };
    const pattern = svg("pattern", { id: this.#hatch, ...size }, tint, lines);
    this.#stage.append(...this.#layers);
    this.root = svg("svg", { class: "agi-svg" }, svg("defs", {}, pattern), this.#stage);
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", trans.__("Graph"));
  }

  clear(): void {
    this.items.clear();
    this.wires.clear();
    this.#backs.clear();
    this.#painted = null;
    this.#sparse = false;
    for (const layer of this.#layers) layer.replaceChildren();
  }

  /** A pan moves what the browser has painted; painting it anew at every frame would take longer than a frame. */
  move({ k, x, y }: Camera): void {
    const { style } = this.root;
    const at = this.#at;
    if (at?.k === k && Math.abs(x - at.x) < FAR && Math.abs(y - at.y) < FAR) {
      style.willChange = "transform";
      style.transform = `translate(${x - at.x}px, ${y - at.y}px)`;
      return;
    }
    this.#at = { k, x, y };
    this.root.classList.toggle("agi-near", k > NEAR);
    style.setProperty("--agi-grow", String(growth("error", k)));
    style.willChange = style.transform = "";
    this.#stage.setAttribute("transform", `translate(${x} ${y}) scale(${k})`);
  }

  /**
   * Adds and removes what came into sight or left it; true if anything did. While `moving`, what is only near
   * comes bit by bit.
   */
  cull(scene: Scene, camera: Camera, margin = 0.5, moving = false): boolean {
    const seen = camera.seen;
    if (this.#sparse) this.#addBacks(scene);
    const p = this.#painted;
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
      if (!wanted) this.#remove(item.id);
      else if (!moving || overlap(bounds(item), seen) || room-- > 0) this.#add(item);
    }
    for (const wire of scene.wires) {
      const wanted = overlap(wire, rect);
      if (wanted === this.wires.has(wire)) continue;
      if (wanted && moving && !overlap(wire, seen) && room-- <= 0) continue;
      if (wanted) {
        const made = paintWire(wire);
        this.wires.set(wire, made);
        this.#layers[2]!.append(made);
      } else {
        this.wires.get(wire)!.remove();
        this.wires.delete(wire);
      }
    }
    this.complete = room >= 0;
    this.#painted = this.complete ? rect : null;
    return true;
  }

  /** What stands out, over the canvas: it can have the focus, and be read aloud. */
  only(items: Item[]): void {
    if (!this.#sparse) {
      for (const layer of this.#layers.slice(0, 3)) layer.replaceChildren();
      this.wires.clear();
      this.#backs.clear();
      this.#painted = null;
      this.#sparse = true;
    }
    const wanted = new Set(items.map((item) => item.id));
    for (const id of [...this.items.keys()]) if (!wanted.has(id)) this.#remove(id);
    for (const item of items) if (!this.items.has(item.id)) this.#addItem(item);
  }

  /** The few that are there get what stands behind them. */
  #addBacks(scene: Scene): void {
    for (const item of scene.items) if (this.items.has(item.id)) this.#addBack(item);
    this.#sparse = false;
  }

  #remove(id: number): void {
    this.items.get(id)!.remove();
    this.items.delete(id);
    for (const back of this.#backs.get(id) ?? []) back.remove();
    this.#backs.delete(id);
  }

  #add(item: Item): void {
    this.#addItem(item);
    this.#addBack(item);
  }

  #addItem(item: Item): void {
    const made = paintItem(item, this.labels, this.facts);
    this.items.set(item.id, made);
    this.#layers[3]!.append(made);
  }

  #addBack(item: Item): void {
    const backs: SVGElement[] = [];
    if (startsRegion(item, this.facts)) {
      backs.push(paintRegion(item, this.#hatch));
      this.#layers[1]!.append(backs[0]!);
    }
    if (item.open) {
      const frame = paintFrame(item, this.facts);
      backs.push(frame);
      this.#layers[0]!.append(frame);
    }
    this.#backs.set(item.id, backs);
  }
}

function paintRegion(item: Item, hatch: string): SVGElement {
  const { left, top, right, bottom } = regionOf(item);
  const place = { x: left, y: top, width: right - left, height: bottom - top };
  return svg("rect", { class: "agi-region", ...place, fill: `url(#${hatch})` });
}

function paintWire(wire: Wire): SVGGElement {
  const severity = wire.severity && ` agi-has-${wire.severity}`;
  const how = `agi-wire agi-wire-${wire.kind}${severity}${wire.hot ? " agi-hot" : ""}`;
  const group = svg("g", { class: how }, svg("path", { class: "agi-way", d: wayOf(wire) }));
  const tips = tipsOf(wire);
  if (tips) group.append(svg("path", { class: "agi-tip", d: tips }));
  const [start] = wire.shape ? wire.strokes() : [];
  if (start) {
    const at = { x: start.x1 + 4, y: start.y1 + 10 };
    group.append(svg("text", { class: "agi-text agi-value", ...at }, wire.shape));
  }
  return group;
}

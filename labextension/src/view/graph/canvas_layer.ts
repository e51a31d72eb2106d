/** The same picture on a canvas, for when more is in sight than a browser draws smoothly as SVG. */

import type { Labels } from "../../layout/labels";
import type { Item, Scene, Wire } from "../../layout/scene";
import { type Camera, overlap } from "./camera";
import { type Brush, drawDot, drawItem } from "./canvas_item";
import { Colours } from "./colours";
import type { Facts } from "./facts";
import type { Marking } from "./marking";
import { penOf } from "./measure";
import { regionOf, startsRegion } from "./regions";
import { bounds } from "./where";
import { tipsOf, wayOf } from "./wire_paths";

/** Smaller than this on the screen, text and shapes say nothing. */
const READABLE = 0.4;
/** Smaller than this, a box is hardly more than a point. */
const TINY = 0.1;

export class CanvasLayer {
  readonly root = document.createElement("canvas");
  readonly colours = new Colours(this.root);
  readonly #ways = new WeakMap<Wire, Path2D>();
  readonly #tips = new WeakMap<Wire, Path2D>();

  constructor(
    private readonly labels: Labels,
    private readonly facts: Facts[],
  ) {
    this.root.className = "agi-canvas";
    this.root.setAttribute("aria-hidden", "true");
  }

  paint(scene: Scene, camera: Camera, marking: Marking): void {
    const pen = penOf(this.root);
    if (!pen) return;
    const { k } = camera;
    this.#clear(pen, camera);
    const seen = camera.seen;
    const items = scene.items.filter((item) => overlap(bounds(item), seen));
    const large = items.filter((item) => item.width * k > 1 || item.height * k > 1);
    const brush: Brush = {
      pen,
      colour: this.colours.of,
      labels: this.labels,
      facts: this.facts,
      family: k > READABLE ? getComputedStyle(this.root).fontFamily : "",
      pixel: 1 / k,
      heat: null,
    };
    pen.lineWidth = Math.max(1, 0.6 / k);
    for (const item of large) if (item.open) this.#paintFrame(pen, item);
    this.#paintRegions(pen, large, k);
    this.#paintWires(pen, scene, camera, marking);
    for (const item of large) drawItem(brush, item, marking.of(item));
    if (k > TINY) return;
    // What one looks for is seen from any distance.
    for (const item of items) {
      const { found, chosen } = marking.of(item);
      if (found || chosen) drawDot(brush, item);
    }
  }

  #clear(pen: CanvasRenderingContext2D, camera: Camera): void {
    const ratio = globalThis.devicePixelRatio || 1;
    const [w, h] = [Math.round(camera.width * ratio), Math.round(camera.height * ratio)];
    if (this.root.width !== w) this.root.width = w;
    if (this.root.height !== h) this.root.height = h;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, w, h);
    const k = ratio * camera.k;
    pen.setTransform(k, 0, 0, k, ratio * camera.x, ratio * camera.y);
  }

  #paintFrame(pen: CanvasRenderingContext2D, item: Item): void {
    pen.fillStyle = this.colours.of(`frame-${item.box!.depth % 2}`);
    pen.strokeStyle = this.colours.of("frame-line");
    pen.setLineDash(this.facts[item.box!.id]!.tracked ? [] : [5, 4]);
    pen.fillRect(item.x, item.y, item.width, item.height);
    pen.strokeRect(item.x, item.y, item.width, item.height);
    pen.setLineDash([]);
  }

  /** The shade of grad modes; from afar a tint says as much as lines. */
  #paintRegions(pen: CanvasRenderingContext2D, items: Item[], k: number): void {
    const shaded = items.filter((item) => startsRegion(item, this.facts));
    pen.save();
    pen.strokeStyle = pen.fillStyle = this.colours.of("region");
    for (const item of shaded) {
      const { left, top, right, bottom } = regionOf(item);
      pen.globalAlpha = k > READABLE ? 0.07 : 0.2;
      pen.fillRect(left, top, right - left, bottom - top);
      if (k <= READABLE) continue;
      pen.globalAlpha = 0.45;
      hatch(pen, left, top, right, bottom);
    }
    pen.restore();
  }

  #paintWires(pen: CanvasRenderingContext2D, scene: Scene, camera: Camera, marking: Marking): void {
    const seen = camera.seen;
    const short = 3 / camera.k;
    for (const wire of scene.wires) {
      if (!overlap(wire, seen) || wire.bottom - wire.top < short) continue;
      const severed = wire.kind === "severed";
      const name = severed
        ? wire.severity
          ? `${wire.severity}-line`
          : "idle"
        : wire.kind === "modified"
          ? "error-line"
          : wire.kind;
      pen.strokeStyle = this.colours.of(wire.hot ? "hot" : name);
      pen.lineWidth = wire.hot ? Math.max(2.6, 1.6 / camera.k) : Math.max(1, 0.6 / camera.k);
      pen.globalAlpha = marking.dimWire(wire) ? 0.28 : 1;
      pen.setLineDash(severed ? [5, 4] : []);
      pen.stroke(kept(this.#ways, wire, wayOf));
      if (camera.k < READABLE) continue;
      pen.fillStyle = pen.strokeStyle;
      pen.fill(kept(this.#tips, wire, tipsOf));
    }
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }
}

/** Made once a wire: parsing a path takes longer than drawing it. */
function kept(paths: WeakMap<Wire, Path2D>, wire: Wire, draw: (wire: Wire) => string): Path2D {
  let path = paths.get(wire);
  if (!path) {
    path = new Path2D(draw(wire));
    paths.set(wire, path);
  }
  return path;
}

/** Slanted lines, 8 apart. */
function hatch(
  pen: CanvasRenderingContext2D,
  left: number,
  top: number,
  right: number,
  bottom: number,
): void {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, right - left, bottom - top);
  pen.clip();
  pen.beginPath();
  pen.lineWidth = 1;
  const height = bottom - top;
  for (let x = left - height; x < right; x += 8) {
    pen.moveTo(x, bottom);
    pen.lineTo(x + height, top);
  }
  pen.stroke();
  pen.restore();
}

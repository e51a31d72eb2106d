/** The same picture on a canvas, for when more is in sight than a browser draws smoothly as SVG. */

import { HEAD } from "../../layout/compose";
import { type Labels, TOGGLE } from "../../layout/labels";
import { isLeaf } from "../../layout/leaves";
import type { Item, Scene, Wire } from "../../layout/scene";
import { type Camera, overlap } from "./camera";
import type { Facts } from "./facts";
import { isTroubled, lookOf, outline } from "./looks";
import { FONT, penOf } from "./measure";
import { bounds } from "./svg_layer";
import { tipsOf, wayOf } from "./ways";

/** Smaller than this on the screen, text and shapes say nothing. */
const READABLE = 0.4;
const LINE = { title: 16, small: 14, alarm: 14, note: 14 };

export class CanvasLayer {
  readonly root = document.createElement("canvas");
  private readonly colours = new Map<string, string>();
  private readonly ways = new WeakMap<Wire, Path2D>();

  constructor(
    private readonly labels: Labels,
    private readonly facts: Facts[],
  ) {
    this.root.className = "ai-canvas";
    this.root.setAttribute("aria-hidden", "true");
  }

  /** The theme may have changed. */
  forget(): void {
    this.colours.clear();
  }

  paint(
    scene: Scene,
    camera: Camera,
    dim: (item: Item) => boolean,
    chosen: (item: Item) => boolean,
  ): void {
    const pen = penOf(this.root);
    if (!pen) return;
    const ratio = globalThis.devicePixelRatio || 1;
    const [w, h] = [Math.round(camera.width * ratio), Math.round(camera.height * ratio)];
    if (this.root.width !== w) this.root.width = w;
    if (this.root.height !== h) this.root.height = h;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, w, h);
    const { k } = camera;
    pen.setTransform(ratio * k, 0, 0, ratio * k, ratio * camera.x, ratio * camera.y);
    const seen = camera.seen;
    const items = scene.items.filter(
      (item) => overlap(bounds(item), seen) && (item.width * k > 1 || item.height * k > 1),
    );
    pen.lineWidth = Math.max(1, 0.6 / k);
    for (const item of items) if (item.open) this.paintFrame(pen, item);
    this.paintWires(pen, scene, camera);
    const family = getComputedStyle(this.root).fontFamily;
    for (const item of items)
      this.paintItem(pen, item, k > READABLE ? family : "", dim(item), chosen(item));
  }

  colour(name: string): string {
    let colour = this.colours.get(name);
    if (colour === undefined) {
      colour = getComputedStyle(this.root).getPropertyValue(`--ai-${name}`).trim() || "#888";
      this.colours.set(name, colour);
    }
    return colour;
  }

  private way(wire: Wire): Path2D {
    let way = this.ways.get(wire);
    if (!way) {
      way = new Path2D(wayOf(wire));
      this.ways.set(wire, way);
    }
    return way;
  }

  private paintFrame(pen: CanvasRenderingContext2D, item: Item): void {
    pen.fillStyle = this.colour(`frame-${item.box!.depth % 2}`);
    pen.strokeStyle = this.colour("frame-line");
    pen.fillRect(item.x, item.y, item.width, item.height);
    pen.strokeRect(item.x, item.y, item.width, item.height);
  }

  private paintWires(pen: CanvasRenderingContext2D, scene: Scene, camera: Camera): void {
    const seen = camera.seen;
    const short = 3 / camera.k;
    for (const wire of scene.wires) {
      if (!overlap(wire, seen) || wire.bottom - wire.top < short) continue;
      const name = wire.kind === "severed" ? (wire.live ? "alarm" : "idle") : wire.kind;
      pen.strokeStyle = this.colour(wire.hot ? "hot" : name);
      pen.setLineDash(wire.kind === "severed" ? [5, 4] : []);
      pen.stroke(this.way(wire));
      if (camera.k < READABLE) continue;
      pen.fillStyle = pen.strokeStyle;
      pen.fill(new Path2D(tipsOf(wire)));
    }
    pen.setLineDash([]);
  }

  private paintItem(
    pen: CanvasRenderingContext2D,
    item: Item,
    family: string,
    dim: boolean,
    chosen: boolean,
  ): void {
    const look = lookOf(item, this.facts);
    pen.globalAlpha = dim ? 0.25 : 1;
    pen.fillStyle = this.colour(item.open ? "head" : `${look}-fill`);
    pen.strokeStyle = this.colour(chosen ? "hot" : isTroubled(item) ? "alarm" : `${look}-line`);
    const height = item.open ? HEAD : item.height;
    if (family) {
      const leaf = item.box?.node ? isLeaf(item.box.node) : false;
      const path = new Path2D();
      const shape = new Path2D(
        item.open ? `M0 0H${item.width}V${HEAD}H0Z` : outline(look, leaf, item.width, height),
      );
      path.addPath(shape, new DOMMatrix([1, 0, 0, 1, item.x, item.y]));
      pen.fill(path);
      pen.stroke(path);
      this.write(pen, item, family);
    } else {
      pen.fillRect(item.x, item.y, item.width, height);
      pen.strokeRect(item.x, item.y, item.width, height);
    }
    pen.globalAlpha = 1;
  }

  private write(pen: CanvasRenderingContext2D, item: Item, family: string): void {
    const box = item.box;
    const lines = !box
      ? [{ text: item.text, role: "small" as const }]
      : item.open
        ? [{ text: `−  ${this.labels.head(box).join("  ")}`, role: "title" as const }]
        : this.labels.of(box).lines;
    const shift = box && box.children.length > 0 && !item.open ? (TOGGLE - 4) / 2 : 0;
    pen.textAlign = item.open ? "left" : "center";
    const x = item.open ? item.x + 10 : item.x + item.width / 2 + shift;
    let y = item.y + (box ? 6 : 4) - (item.open ? 1 : 0);
    for (const { text, role } of lines) {
      y += LINE[role];
      pen.font = `${role === "title" ? FONT.title : FONT.small} ${family}`;
      pen.fillStyle = this.colour(role === "alarm" ? "alarm" : role === "title" ? "ink" : "quiet");
      pen.fillText(text, x, y - 4);
    }
    if (shift) pen.fillText("+", item.x + 12, item.y + item.height / 2 + 4);
  }
}

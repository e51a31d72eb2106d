/** The picture in the page: what is open, what is seen, what is marked. */

import { Layout } from "../../layout";
import type { Box } from "../../layout/box";
import { HEAD } from "../../layout/compose";
import { firstProblem } from "../../layout/problems";
import type { Item, Scene } from "../../layout/scene";
import { type Open, openAround, opening } from "../../layout/visible";
import type { CaptureGraph } from "../../model/graph";
import { Camera, overlap } from "./camera";
import { CanvasLayer } from "./canvas_layer";
import { gatherFacts } from "./facts";
import { drawLegend } from "./legend";
import { lookOf } from "./looks";
import { Marking } from "./marking";
import { measureIn } from "./measure";
import { Minimap } from "./minimap";
import { bounds, SvgLayer } from "./svg_layer";

/** More boxes in sight than this are painted on the canvas; fewer, where they are too small to be read. */
const SVG_AT_MOST = 1000;
const TINY = { scale: 0.3, many: 250 };
/** While the picture moves, the canvas stands in for more than this, until it rests for REST ms. */
const MOVED_AS_SVG = 100;
const REST = 140;
/** Text is read down to this size. */
const SMALLEST = 0.8;

export class Picture {
  readonly root = document.createElement("div");
  readonly stage = document.createElement("div");
  readonly legend = document.createElement("div");
  readonly layout: Layout;
  readonly facts;
  readonly marking: Marking;
  readonly svg: SvgLayer;
  readonly canvas: CanvasLayer;
  readonly camera = new Camera(() => this.moved());
  readonly minimap: Minimap;
  open: Open;
  scene: Scene = { width: 0, height: 0, items: [], wires: [] };
  /** The box that Tab reaches. */
  focus = -1;
  private byId = new Map<number, Item>();
  private hot: ((edge: number) => boolean) | undefined;
  private frame = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private placed = false;
  private standing = "";
  private again = (): void => {};

  constructor(
    host: HTMLElement,
    readonly graph: CaptureGraph,
    dark?: boolean,
  ) {
    this.root.className = "ai-graph";
    if (dark !== undefined) this.root.dataset.dark = String(dark);
    this.stage.className = "ai-graph-view";
    this.legend.className = "ai-legend";
    host.append(this.root);
    this.root.append(this.stage, this.legend);
    this.layout = new Layout(graph, measureIn(this.root));
    this.facts = gatherFacts(this.layout.tree);
    this.marking = new Marking(this.layout.tree, this.facts);
    this.svg = new SvgLayer(this.layout.labels, this.facts);
    this.canvas = new CanvasLayer(this.layout.labels, this.facts);
    this.minimap = new Minimap(
      this.camera,
      (item) => this.canvas.colour(item.open ? "frame-line" : `${lookOf(item, this.facts)}-line`),
      (name) => this.canvas.colour(name),
    );
    this.stage.append(this.canvas.root, this.svg.root, this.minimap.root);
    this.open = opening(this.layout.tree);
    this.rebuild();
  }

  item(id: number): Item | undefined {
    return this.byId.get(id);
  }

  /** The item that shows a box: its own, or the closed one around it. */
  shown(box: Box): Item | undefined {
    for (let at: Box | null = box; at; at = at.parent) {
      const item = this.byId.get(at.id);
      if (item && (at === box || !item.open)) return item;
    }
    return undefined;
  }

  rebuild(): void {
    this.scene = this.layout.scene(this.open, this.hot);
    this.byId = new Map(this.scene.items.map((item) => [item.id, item]));
    this.svg.clear();
    this.canvas.forget();
    if (!this.byId.has(this.focus))
      this.focus = this.scene.items.find((item) => item.box)?.id ?? -1;
    drawLegend(this.legend, this.scene, this.facts);
    if (this.placed) this.paint();
    this.minimap.draw(this.scene);
  }

  /** Opens or closes a box; its upper left corner stays where it is on the screen. */
  toggle(box: Box): void {
    if (box.children.length === 0) return;
    const before = this.byId.get(box.id);
    if (!this.open.delete(box.id)) this.open.add(box.id);
    this.rebuild();
    const after = this.byId.get(box.id);
    if (before && after) {
      const { k } = this.camera;
      this.camera.pan(
        (before.x + before.width / 2 - after.x - after.width / 2) * k,
        (before.y - after.y) * k,
      );
    }
  }

  show(open: Open): void {
    this.open = open;
    this.rebuild();
    this.start();
  }

  reveal(boxes: Box[]): void {
    const hidden = boxes.some((box) => this.shown(box)?.box !== box);
    if (!hidden) return;
    for (const box of boxes) openAround(this.open, box);
    this.rebuild();
  }

  highlight(hot: ((edge: number) => boolean) | undefined): void {
    this.hot = hot;
    this.rebuild();
  }

  resize(width: number, height: number): void {
    if (width === 0 || height === 0) return;
    const untouched = this.standing === this.stand();
    [this.camera.width, this.camera.height] = [width, height];
    if (!this.placed) {
      this.placed = true;
      this.start();
    } else if (untouched) this.again();
    else this.moved();
  }

  /** All, if that can be read; else what went wrong, or the beginning. */
  start(): void {
    const all = { left: 0, top: 0, right: this.scene.width, bottom: this.scene.height };
    this.camera.show(all, SMALLEST);
    const problem = firstProblem(this.layout.tree)
      .map((box) => this.shown(box))
      .find((item) => item !== undefined);
    const seen = this.camera.seen;
    if (problem && !inside(problem, seen)) {
      this.camera.centre(problem.x + problem.width / 2, problem.y + HEAD);
    }
    this.settle(() => this.start());
  }

  fit(): void {
    const { width, height } = this.scene;
    this.camera.show({ left: 0, top: 0, right: width, bottom: height });
    this.settle(() => this.fit());
  }

  /** As long as nobody moves the picture, it is placed anew when its room changes. */
  private settle(again: () => void): void {
    this.again = again;
    this.standing = this.stand();
    this.paint();
  }

  private stand(): string {
    const { k, x, y } = this.camera;
    return `${k} ${x} ${y}`;
  }

  /** What is seen moved; painted at the browser's next frame. */
  moved(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint(true));
  }

  paint(moving = false): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const seen = this.camera.seen;
    let count = 0;
    for (const item of this.scene.items) if (overlap(bounds(item), seen)) count++;
    const many = count > (this.camera.k < TINY.scale ? TINY.many : SVG_AT_MOST);
    const stand = many || (moving && count > MOVED_AS_SVG);
    this.svg.root.style.display = many ? "none" : "";
    // Only transparent: hidden, it would lose the focus.
    this.svg.root.style.opacity = stand ? "0" : "";
    this.canvas.root.hidden = !stand;
    if (!stand) this.svg.move(this.camera);
    clearTimeout(this.rest);
    if (stand && !many) this.rest = setTimeout(() => this.paint(), REST);
    if (stand) this.canvas.paint(this.scene, this.camera, this.marking.dim, this.marking.chosen);
    else if (this.svg.cull(this.scene, this.camera, count > 300 ? 0.15 : 0.5, moving)) this.mark();
    if (!stand && !this.svg.complete) this.frame = requestAnimationFrame(() => this.paint(true));
    this.minimap.update(this.scene);
  }

  /** Selection, filters and the like changed. */
  mark(): void {
    for (const [id, element] of this.svg.items) this.marking.apply(this.byId.get(id)!, element);
    for (const [wire, element] of this.svg.wires) {
      const ends = [wire.from, ...wire.to]
        .map((id) => this.byId.get(id))
        .filter((item) => item !== undefined);
      element.classList.toggle("ai-dim", !wire.hot && ends.some(this.marking.dim));
    }
    this.svg.items.get(this.focus)?.setAttribute("tabindex", "0");
    if (!this.canvas.root.hidden) this.moved();
  }

  setFocus(id: number, take: boolean): void {
    this.svg.items.get(this.focus)?.setAttribute("tabindex", "-1");
    this.focus = id;
    const item = this.byId.get(id);
    if (item && !inside(item, this.camera.seen)) {
      this.camera.centre(item.x + item.width / 2, item.y + (item.open ? HEAD : item.height / 2));
      this.paint();
    }
    const element = this.svg.items.get(id);
    element?.setAttribute("tabindex", "0");
    if (take) element?.focus({ preventScroll: true });
  }

  /** The innermost box at a point of the stage. */
  at(x: number, y: number): { item: number; toggle: boolean } | null {
    const { k } = this.camera;
    const [sx, sy] = [(x - this.camera.x) / k, (y - this.camera.y) / k];
    for (let at = this.scene.items.length - 1; at >= 0; at--) {
      const item = this.scene.items[at]!;
      const height = item.open ? HEAD : item.height;
      if (
        !item.box ||
        sx < item.x ||
        sx > item.x + item.width ||
        sy < item.y ||
        sy > item.y + height
      )
        continue;
      return { item: item.id, toggle: item.box.children.length > 0 && sx < item.x + 26 };
    }
    return null;
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    this.root.remove();
  }
}

function inside(
  item: Item,
  seen: { left: number; top: number; right: number; bottom: number },
): boolean {
  const bottom = item.y + (item.open ? HEAD : item.height);
  return (
    item.x >= seen.left &&
    item.x + item.width <= seen.right &&
    item.y >= seen.top &&
    bottom <= seen.bottom
  );
}

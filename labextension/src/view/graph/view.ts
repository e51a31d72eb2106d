/** The picture in the page: what is open, what is seen, what is marked. */

import { Layout } from "../../layout";
import type { Box } from "../../layout/box";
import { firstProblem, foremost } from "../../layout/problems";
import type { Item, Scene } from "../../layout/scene";
import { count, type Open, openAround, opening, toDepth } from "../../layout/visible";
import type { Work } from "../../layout/work";
import type { CaptureGraph } from "../../model/graph";
import { grouped } from "../../model/said";
import { COLOURS, preferredDepth } from "../../state/preferences";
import { trans } from "../../words";
import { el, focused } from "../dom";
import { Camera } from "./camera";
import { CanvasLayer } from "./canvas_layer";
import { gatherFacts } from "./facts";
import { drawLegend, listing } from "./legend";
import { Marking } from "./marking";
import { measureIn } from "./measure";
import { Minimap } from "./minimap";
import { lookOf, toneOf } from "./node_style";
import { Painter } from "./painter";
import { Placing, TOGETHER } from "./placing";
import { Latest } from "./slices";
import { SvgLayer } from "./svg_layer";
import { bringIntoSight, bringTogether } from "./where";

/** Of what is chosen together, so many are opened and brought into sight. */
const FEW = 12;

/** More boxes than this are laid out in slices. */
const AT_ONCE = 1_500;

export class Picture {
  readonly stage = el("div", { class: "agi-graph-view" });
  readonly body = el("div", { class: "agi-graph-body" }, this.stage);
  readonly legend = el("div", { class: "agi-legend" });
  /** What stands below the picture: nothing of it is covered. Who knows the picture needs no legend. */
  readonly foot = el(
    "div",
    { class: "agi-graph-foot" },
    el("details", { class: "agi-legend-fold" }, el("summary", {}, trans.__("Legend")), this.legend),
  );
  readonly root = el("div", { class: "agi-graph" }, this.body, this.foot);
  readonly layout: Layout;
  readonly facts;
  readonly marking: Marking;
  readonly svg: SvgLayer;
  readonly canvas: CanvasLayer;
  readonly camera = new Camera(() => this.#painter.moved());
  readonly placing = new Placing(this);
  readonly minimap: Minimap;
  open: Open;
  scene: Scene = { width: 0, height: 0, items: [], wires: [] };
  /** The box that Tab reaches. */
  focus = -1;
  #byId = new Map<number, Item>();
  #painted = false;
  #hot: ((edge: number) => boolean) | undefined;
  readonly #painter = new Painter(this);
  readonly #progress = el("div", { class: "agi-progress", role: "status" });
  readonly #latest = new Latest((on) => this.#busy(on));
  /** What is open is not yet what is drawn. */
  #stale = false;
  #fitting = false;
  readonly #theme = new MutationObserver(() => this.#recolour());

  constructor(
    host: HTMLElement,
    readonly graph: CaptureGraph,
  ) {
    host.append(this.root);
    this.layout = new Layout(graph, measureIn(this.root));
    this.facts = gatherFacts(this.layout.tree);
    this.marking = new Marking(this.layout.tree, this.facts);
    this.svg = new SvgLayer(this.layout.labels, this.facts);
    this.canvas = new CanvasLayer(this.layout.labels, this.facts);
    this.minimap = new Minimap(
      this.camera,
      (item) => (item.open ? "frame-line" : `${toneOf(item, lookOf(item, this.facts))}-line`),
      this.canvas.colours.of,
      () => this.chosen(),
    );
    this.stage.append(this.canvas.root, this.svg.root, this.minimap.root, this.#progress);
    const depth = preferredDepth();
    this.open = depth > 0 ? toDepth(this.layout.tree, depth) : opening(this.layout.tree);
    this.rebuild();
    const themed = this.root.closest("[data-theme]");
    this.#theme.observe(document.documentElement, { attributes: true, attributeFilter: [COLOURS] });
    if (themed) this.#theme.observe(themed, { attributes: true, attributeFilter: ["data-theme"] });
  }

  item(id: number): Item | undefined {
    return this.#byId.get(id);
  }

  /** The item that shows a box: its own, or the closed one around it. */
  shown(box: Box): Item | undefined {
    for (let at: Box | null = box; at; at = at.parent) {
      const item = this.#byId.get(at.id);
      if (item && (at === box || !item.open)) return item;
    }
    return undefined;
  }

  /** `move`: the camera, before anything is painted. Of a large picture this comes later, and only the last of them. */
  rebuild(move: () => void = () => {}): void {
    const large = count(this.layout.tree, this.open) > AT_ONCE;
    this.#stale = true;
    this.#latest.run(this.#rebuilding(move), large);
  }

  /** All of the picture in sight; of one that is being laid out, when it is there. */
  fit(): void {
    if (this.#stale) this.#fitting = true;
    else this.placing.fit();
  }

  *#rebuilding(move: () => void): Work<void> {
    const scene = yield* this.layout.making(this.open, this.#hot);
    const byId = new Map(scene.items.map((item) => [item.id, item]));
    yield;
    const legend = yield* listing(scene, this.facts);
    this.#stale = false;
    this.scene = scene;
    this.camera.scene = scene;
    this.#byId = byId;
    this.marking.items = byId;
    const engaged = this.svg.root.contains(focused(this.root));
    this.svg.clear();
    if (!this.#byId.has(this.focus))
      this.focus = this.scene.items.find((item) => item.box)?.id ?? -1;
    drawLegend(this.legend, legend);
    this.#painted = false;
    move();
    if (this.#fitting) this.placing.fit();
    this.#fitting = false;
    // Placing the camera may have painted it already.
    if (this.placing.ready && !this.#painted) this.paint();
    if (engaged) this.svg.items.get(this.focus)?.focus({ preventScroll: true });
    yield;
    this.minimap.draw(scene);
  }

  #busy(on: boolean): void {
    this.root.setAttribute("aria-busy", String(on));
    const boxes = on ? count(this.layout.tree, this.open) : 0;
    this.#progress.textContent = on
      ? trans._n("Laying out %2 box …", "Laying out %2 boxes …", boxes, grouped(boxes))
      : "";
  }

  /** The page is dark now, or light: the canvases have their colours from before. */
  #recolour(): void {
    this.canvas.colours.forget();
    this.minimap.draw(this.scene);
    if (this.placing.ready) this.paint();
  }

  /** Opens or closes a box; its upper left corner stays where it is on the screen. */
  toggle(box: Box): void {
    if (box.children.length === 0) return;
    const before = this.#byId.get(box.id);
    if (!this.open.delete(box.id)) this.open.add(box.id);
    this.rebuild(() => {
      const after = this.#byId.get(box.id);
      if (!before || !after) return;
      const { k } = this.camera;
      this.camera.pan(
        (before.x + before.width / 2 - after.x - after.width / 2) * k,
        (before.y - after.y) * k,
      );
    });
  }

  show(open: Open): void {
    this.open = open;
    this.rebuild(() => this.placing.start());
  }

  /** `then`: when they are drawn. */
  reveal(boxes: Box[], then: () => void): void {
    const hidden = boxes.some((box) => this.shown(box)?.box !== box);
    if (!hidden) {
      then();
      return;
    }
    for (const box of boxes) openAround(this.open, box);
    this.rebuild(then);
  }

  highlight(hot: ((edge: number) => boolean) | undefined): void {
    this.#hot = hot;
    this.rebuild();
  }

  resize(width: number, height: number): void {
    if (width === 0 || height === 0) return;
    const first = !this.placing.ready;
    if (!this.placing.resize(width, height)) this.#painter.moved();
    if (first) this.minimap.draw(this.scene);
  }

  chosen(): Item[] {
    const { boxes } = this.layout.tree;
    return this.#together(foremost([...this.marking.selected].map((id) => boxes[id]!)));
  }

  problem(): Item[] {
    return this.#together(firstProblem(this.layout.tree));
  }

  /** What shows the first few of those boxes. */
  #together(boxes: Box[]): Item[] {
    const items = boxes.slice(0, FEW).map((box) => this.shown(box));
    return [...new Set(items.filter((item) => item !== undefined))];
  }

  /** Moves the picture so that those boxes are seen, if that is needed. */
  bring(all: Box[]): void {
    const boxes = foremost(all);
    this.reveal(boxes.slice(0, FEW), () => {
      bringTogether(this.#together(boxes), this.camera, TOGETHER);
      this.paint();
      // Whoever came to this panel from another goes on from here.
      const panel = this.root.closest("[role=tabpanel]");
      this.setFocus(boxes[0]!.id, panel !== null && panel === focused(panel));
    });
  }

  paint(): void {
    this.#painted = true;
    this.#painter.paint();
  }

  /** Selection, filters and the like changed. */
  mark(): void {
    this.markElements();
    this.minimap.update(this.scene);
    if (!this.canvas.root.hidden) this.#painter.moved();
  }

  markElements(): void {
    for (const [id, element] of this.svg.items) this.marking.apply(this.#byId.get(id)!, element);
    for (const [wire, element] of this.svg.wires) {
      element.classList.toggle("agi-dim", this.marking.dimWire(wire));
    }
    this.svg.items.get(this.focus)?.setAttribute("tabindex", "0");
  }

  outstanding(most: number): Item[] {
    const chosen = [...this.marking.selected].slice(0, most);
    return [...new Set([this.focus, ...chosen])]
      .map((id) => this.#byId.get(id))
      .filter((item) => item !== undefined);
  }

  setFocus(id: number, take: boolean): void {
    this.svg.items.get(this.focus)?.setAttribute("tabindex", "-1");
    this.focus = id;
    const item = this.#byId.get(id);
    if (item) bringIntoSight(item, this.camera);
    if (item && !this.svg.items.has(id)) this.paint();
    const element = this.svg.items.get(id);
    element?.setAttribute("tabindex", "0");
    if (take) element?.focus({ preventScroll: true });
  }

  destroy(): void {
    this.#latest.stop();
    this.#painter.stop();
    this.#theme.disconnect();
    this.root.remove();
  }
}

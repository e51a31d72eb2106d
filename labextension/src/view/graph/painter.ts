/** Paints what is in sight: as SVG, or on the canvas where that would be too much for the browser. */

import type { Item, Scene } from "../../layout/scene";
import { type Camera, overlap } from "./camera";
import type { CanvasLayer } from "./canvas_layer";
import type { Marking } from "./marking";
import type { Minimap } from "./minimap";
import type { SvgLayer } from "./svg_layer";
import { bounds } from "./where";

/** More boxes in sight than this are painted on the canvas; fewer, where they are too small to be read. */
const SVG_AT_MOST = 1000;
const TINY = { scale: 0.3, many: 250 };
/** While the picture moves, the canvas stands in for more than this, until it rests for REST ms. */
const MOVED_AS_SVG = 100;
/**
 * In a graph of more than this it stands in for anything that is zoomed: what is moved stays as it was painted, what is
 * zoomed is painted anew, and among so many there are always long wires and wide frames.
 */
const ZOOMED_AS_SVG = 300;
const REST = 140;
/** Selected boxes that stand as SVG over the canvas. */
const OVER_CANVAS = 40;

export interface Painted {
  readonly camera: Camera;
  readonly scene: Scene;
  readonly svg: SvgLayer;
  readonly canvas: CanvasLayer;
  readonly minimap: Minimap;
  readonly marking: Marking;
  /** The focus, and at most so many selected boxes. */
  outstanding(most: number): Item[];
  /** New elements came in: they are to be marked like the others. */
  markElements(): void;
}

export class Painter {
  #frame = 0;
  #rest: ReturnType<typeof setTimeout> | undefined;
  /** Of what was painted last. */
  #scale = 0;

  constructor(private readonly picture: Painted) {}

  /** What is seen moved; painted at the browser's next frame. */
  readonly moved = (): void => {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.paint(true));
  };

  paint(moving = false): void {
    this.stop();
    const { camera, scene, svg, canvas, minimap, marking } = this.picture;
    const seen = camera.seen;
    let count = 0;
    for (const item of scene.items) if (overlap(bounds(item), seen)) count++;
    const many = count > (camera.k < TINY.scale ? TINY.many : SVG_AT_MOST);
    const zooming = camera.k !== this.#scale && scene.items.length > ZOOMED_AS_SVG;
    this.#scale = camera.k;
    const stand = many || (moving && (zooming || count > MOVED_AS_SVG));
    // Only transparent: hidden, it would lose the focus.
    svg.root.style.opacity = stand && !many ? "0" : "";
    canvas.root.hidden = !stand;
    if (many || !stand) svg.move(camera);
    if (stand && !many) this.#rest = setTimeout(() => this.paint(), REST);
    if (stand) canvas.paint(scene, camera, marking);
    if (many) {
      svg.only(this.picture.outstanding(OVER_CANVAS));
      this.picture.markElements();
    } else if (stand) {
      // The SVG is painted when the picture comes to rest.
    } else if (svg.cull(scene, camera, count > 300 ? 0.15 : 0.5, moving))
      this.picture.markElements();
    if (!stand && !svg.complete) this.moved();
    minimap.update(scene);
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    clearTimeout(this.#rest);
  }
}

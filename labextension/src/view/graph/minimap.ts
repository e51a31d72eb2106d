/** The whole picture in a corner, and which part of it is seen. */

import type { Item, Scene } from "../../layout/scene";
import { severityOfItem } from "./badge";
import { type Camera, overlap } from "./camera";
import { penOf } from "./measure";
import { bounds } from "./where";

const [WIDTH, HEIGHT] = [132, 120];
const ROOMY = 480;
/** Pixels. */
const SPOT = 4;
/** Too narrow to find a box in it. */
const STRIP = 32;
/** Its distance from the edge, on both sides. */
const REACH = 16;
/** More items than that are not looked at whenever the picture moves. */
const MANY = 2_000;
const CORNERS = ["bottom right", "bottom left", "top right", "top left"] as const;

export class Minimap {
  readonly root = document.createElement("canvas");
  readonly #base = document.createElement("canvas");
  #scale = 1;
  /** In pixels. */
  #width = 0;
  #height = 0;

  constructor(
    private readonly camera: Camera,
    private readonly toneOf: (item: Item) => string,
    private readonly colour: (name: string) => string,
    private readonly chosen: () => Item[],
  ) {
    this.root.className = "agi-minimap";
    this.root.setAttribute("aria-hidden", "true");
    const go = (event: PointerEvent): void => {
      if (event.buttons !== 1) return;
      event.stopPropagation();
      const box = this.root.getBoundingClientRect();
      camera.centre(
        (event.clientX - box.left) / this.#scale,
        (event.clientY - box.top) / this.#scale,
      );
    };
    this.root.addEventListener("pointerdown", go);
    this.root.addEventListener("pointermove", go);
  }

  /** The picture changed. */
  draw(scene: Scene): void {
    const ratio = globalThis.devicePixelRatio || 1;
    // A low pane has no room to give away.
    const room = Math.min(1, (this.root.parentElement?.clientHeight || ROOMY) / ROOMY);
    this.#scale = room * Math.min(WIDTH / scene.width, HEIGHT / scene.height);
    this.#width = Math.max(scene.width * this.#scale, 14);
    this.#height = Math.max(scene.height * this.#scale, 14);
    for (const canvas of [this.root, this.#base]) {
      canvas.width = Math.ceil(this.#width * ratio);
      canvas.height = Math.ceil(this.#height * ratio);
    }
    this.root.style.width = `${this.#width}px`;
    this.root.style.height = `${this.#height}px`;
    const pen = penOf(this.#base);
    if (!pen) return;
    pen.scale(ratio * this.#scale, ratio * this.#scale);
    const least = 1 / this.#scale;
    for (const item of scene.items) {
      if (item.width * this.#scale < 0.4 && item.height * this.#scale < 0.4) continue;
      pen.fillStyle = this.colour(this.toneOf(item));
      pen.fillRect(item.x, item.y, Math.max(item.width, least), Math.max(item.height, least));
    }
    // However small the picture, what went wrong can be seen in it.
    for (const item of scene.items) {
      const severity = severityOfItem(item);
      if (!severity || severity === "info") continue;
      const size = SPOT / this.#scale;
      pen.fillStyle = this.colour(`${severity}-line`);
      pen.fillRect(
        item.x + item.width / 2 - size / 2,
        item.y + item.height / 2 - size / 2,
        size,
        size,
      );
    }
    this.update(scene);
  }

  /** Into a corner in which it covers nothing; where there is none, nothing that is chosen, and is seen through. */
  #stepAside({ items }: Scene): void {
    const { camera, root } = this;
    const [w, h] = [this.#width + REACH, this.#height + REACH];
    const kept = this.chosen();
    const nodes = items.length > MANY ? [] : items.filter(({ open }) => !open);
    const covers = (corner: string, some: readonly Item[]) => {
      const area = camera.seen;
      if (corner.endsWith("left")) area.right = area.left + w / camera.k;
      else area.left = area.right - w / camera.k;
      if (corner.startsWith("top")) area.bottom = area.top + h / camera.k;
      else area.top = area.bottom - h / camera.k;
      return some.some((item) => overlap(bounds(item), area));
    };
    // Where it is already it stays, if that is as good: it does not jump while the picture is moved.
    const corners = [root.dataset.corner ?? CORNERS[0], ...CORNERS];
    const possible = corners.filter((corner) => !covers(corner, kept));
    const free = possible.find((corner) => !covers(corner, nodes));
    root.dataset.corner = free ?? possible[0] ?? CORNERS[0];
    root.classList.toggle("agi-through", !free);
    // Over other boxes a strip tells nothing.
    if (!free && Math.min(this.#width, this.#height) < STRIP) root.hidden = true;
  }

  /** The camera moved. */
  update(scene: Scene): void {
    const seen = this.camera.seen;
    const all =
      seen.left <= 0 && seen.top <= 0 && seen.right >= scene.width && seen.bottom >= scene.height;
    this.root.hidden = all;
    if (!all) this.#stepAside(scene);
    const pen = all ? null : penOf(this.root);
    if (!pen) return;
    const ratio = (globalThis.devicePixelRatio || 1) * this.#scale;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.root.width, this.root.height);
    pen.drawImage(this.#base, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.strokeStyle = this.colour("hot");
    pen.lineWidth = 1.5 / this.#scale;
    const [left, top] = [Math.max(seen.left, 0), Math.max(seen.top, 0)];
    const [right, bottom] = [
      Math.min(seen.right, scene.width),
      Math.min(seen.bottom, scene.height),
    ];
    pen.strokeRect(
      left,
      top,
      Math.max(right - left, 3 / this.#scale),
      Math.max(bottom - top, 3 / this.#scale),
    );
  }
}

/** Where the camera stands at the beginning, and again when its room changes: as long as nobody moved the picture. */

import type { Item, Scene } from "../../layout/scene";
import type { Camera } from "./camera";
import { bringIntoSight, bringTogether, inside } from "./where";

/** Text is read down to this size. */
const SMALLEST = 0.8;
/** Boxes that belong together are still told apart. */
export const TOGETHER = 0.5;

export interface Placed {
  readonly camera: Camera;
  readonly scene: Scene;
  /** What is chosen, here or elsewhere. */
  chosen(): Item[];
  /** What to look at first, if anything went wrong. */
  problem(): Item[];
  paint(): void;
}

export class Placing {
  /** The stage has a size. */
  ready = false;
  #standing = "";
  #again = (): void => {};

  constructor(private readonly picture: Placed) {}

  /** All, if that can be read; else what was chosen, or what went wrong, or the beginning. */
  start(): void {
    const { camera, scene } = this.picture;
    const all = { left: 0, top: 0, right: scene.width, bottom: scene.height };
    camera.show(all, SMALLEST);
    const chosen = this.picture.chosen();
    const whole =
      scene.width * camera.k <= camera.width && scene.height * camera.k <= camera.height;
    bringTogether(chosen.length ? chosen : this.picture.problem(), camera, TOGETHER, !whole);
    this.#settle(() => this.start());
  }

  fit(): void {
    const { camera, scene } = this.picture;
    camera.show({ left: 0, top: 0, right: scene.width, bottom: scene.height });
    this.#settle(() => this.fit());
  }

  /** True if the camera was placed; else it stands where the user moved it. What was chosen stays in sight. */
  resize(width: number, height: number): boolean {
    const { camera } = this.picture;
    const untouched = this.#standing === this.#stand();
    const [chosen] = this.picture.chosen();
    const seen = chosen && inside(chosen, camera.seen);
    [camera.width, camera.height] = [width, height];
    if (!this.ready) {
      this.ready = true;
      this.start();
      return true;
    }
    if (untouched) this.#again();
    if (chosen && seen) bringIntoSight(chosen, camera);
    return untouched;
  }

  #settle(again: () => void): void {
    this.#again = again;
    this.#standing = this.#stand();
    this.picture.paint();
  }

  #stand(): string {
    const { k, x, y } = this.picture.camera;
    return `${k} ${x} ${y}`;
  }
}

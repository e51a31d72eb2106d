import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { expect, it } from "vitest";
import { draw } from "../../src/lab/kernel/draw";

const MODEL = {} as IRenderMime.IMimeModel;

/** Gives up as ipywidgets does, so many times; of a panel what `draw` looks at. */
class Late {
  asked = 0;
  isDisposed = false;
  readonly widgets: object[] = [];
  private readonly classes = new Set<string>();

  constructor(private readonly refuses: number) {}

  async renderModel(): Promise<void> {
    this.asked++;
    if (this.asked > this.refuses) this.widgets.push({});
    else this.classes.add("jupyter-widgets");
  }

  hasClass(name: string): boolean {
    return this.classes.has(name);
  }

  removeClass(name: string): void {
    this.classes.delete(name);
  }
}

async function drawn(renderer: Late): Promise<void> {
  await draw(renderer as unknown as IRenderMime.IRenderer, MODEL);
}

it("asks again where the renderer gave up right before the model came", async () => {
  const renderer = new Late(1);
  await drawn(renderer);
  expect(renderer.asked).toBe(2);
  expect(renderer.widgets).toHaveLength(1);
  expect(renderer.hasClass("jupyter-widgets")).toBe(false);
});

it("leaves the renderer's words where there is no such model", async () => {
  const renderer = new Late(Number.POSITIVE_INFINITY);
  await drawn(renderer);
  expect(renderer.asked).toBe(3);
  expect(renderer.hasClass("jupyter-widgets")).toBe(true);
});

it("asks once where a view is drawn", async () => {
  const renderer = new Late(0);
  await drawn(renderer);
  expect(renderer.asked).toBe(1);
});

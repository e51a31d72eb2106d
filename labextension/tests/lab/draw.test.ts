import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { Panel, Widget } from "@lumino/widgets";
import { expect, it } from "vitest";
import { draw } from "../../src/lab/kernel/draw";

const MODEL = {} as IRenderMime.IMimeModel;

/** Gives up as ipywidgets does, so many times. */
class Late extends Panel {
  asked = 0;

  constructor(private readonly refuses: number) {
    super();
  }

  async renderModel(): Promise<void> {
    this.asked++;
    if (this.asked > this.refuses) {
      this.addWidget(new Widget());
      return;
    }
    this.node.textContent = "Error displaying widget: model not found";
    this.addClass("jupyter-widgets");
  }
}

it("asks again where the renderer gave up right before the model came", async () => {
  const renderer = new Late(1);
  await draw(renderer, MODEL);
  expect(renderer.asked).toBe(2);
  expect(renderer.widgets).toHaveLength(1);
  expect(renderer.hasClass("jupyter-widgets")).toBe(false);
});

it("leaves the renderer's words where there is no such model", async () => {
  const renderer = new Late(Number.POSITIVE_INFINITY);
  await draw(renderer, MODEL);
  expect(renderer.asked).toBe(3);
  expect(renderer.node.textContent).toContain("model not found");
});

it("asks once where a view is drawn", async () => {
  const renderer = new Late(0);
  await draw(renderer, MODEL);
  expect(renderer.asked).toBe(1);
});

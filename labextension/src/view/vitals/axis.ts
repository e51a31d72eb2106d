/** The steps above the heat map; dragging over them, or two fields, choose the part that is shown. */

import { grouped } from "../../model/said";
import { trans } from "../../words";
import { button, el } from "../dom";

const LABELS = 5;

export class StepAxis {
  readonly host: HTMLElement;
  readonly #strip = el("div", { class: "agi-axis-strip", "aria-hidden": "true" });
  readonly #brush = el("i", { class: "agi-brush", hidden: true });
  readonly #fields: [HTMLInputElement, HTMLInputElement];
  readonly #all: HTMLButtonElement;
  #columns: [number, number];
  #start = -1;

  /** `changed` is told the first and the last column. */
  constructor(
    private readonly steps: readonly number[],
    private readonly changed: (from: number, to: number) => void,
  ) {
    this.#columns = [0, steps.length - 1];
    this.#fields = [this.#field(trans.__("First step")), this.#field(trans.__("Last step"))];
    this.#all = button(trans.__("All"), () => changed(0, steps.length - 1), {
      "aria-label": trans.__("All steps"),
    });
    this.#strip.addEventListener("pointerdown", (event) => {
      this.#start = this.#under(event);
      this.#strip.setPointerCapture?.(event.pointerId);
    });
    this.#strip.addEventListener("pointermove", (event) => this.#drag(event));
    this.#strip.addEventListener("pointerup", (event) => this.#drop(event));
    this.#strip.addEventListener("dblclick", () => changed(0, steps.length - 1));
    this.#strip.title = trans.__("Drag to choose steps; double-click for all");
    this.host = el(
      "div",
      { class: "agi-axis" },
      el("span", { class: "agi-axis-fields" }, ...this.#fields, this.#all),
      this.#strip,
    );
  }

  show(columns: [number, number]): void {
    this.#columns = columns;
    const [from, to] = columns;
    this.#fields[0].value = String(this.steps[from]);
    this.#fields[1].value = String(this.steps[to]);
    this.#all.hidden = from === 0 && to === this.steps.length - 1;
    const count = Math.min(LABELS, to - from + 1);
    const labels = Array.from({ length: count }, (_, n) => {
      const column = from + Math.round((n * (to - from)) / Math.max(count - 1, 1));
      const label = el("span", {}, grouped(this.steps[column]!));
      label.style.left = `${(100 * (column - from + 0.5)) / (to - from + 1)}%`;
      return label;
    });
    this.#strip.replaceChildren(...labels, this.#brush);
  }

  #field(name: string): HTMLInputElement {
    return el("input", {
      type: "number",
      class: "agi-input",
      min: this.steps[0],
      max: this.steps.at(-1),
      "aria-label": name,
      on: { change: () => this.#typed() },
    });
  }

  /** The columns of the steps that were typed: those that are kept and nearest. */
  #typed(): void {
    const [a, b] = this.#fields.map((field) => this.#nearest(Number(field.value)));
    this.changed(Math.min(a!, b!), Math.max(a!, b!));
  }

  #nearest(step: number): number {
    let best = 0;
    this.steps.forEach((one, n) => {
      if (Math.abs(one - step) < Math.abs(this.steps[best]! - step)) best = n;
    });
    return best;
  }

  #under(event: PointerEvent): number {
    const [from, to] = this.#columns;
    const { left, width } = this.#strip.getBoundingClientRect();
    const at = width > 0 ? (event.clientX - left) / width : 0;
    return Math.min(Math.max(from + Math.floor(at * (to - from + 1)), from), to);
  }

  #drag(event: PointerEvent): void {
    if (this.#start < 0) return;
    const [from, to] = this.#columns;
    const here = this.#under(event);
    const width = 100 / (to - from + 1);
    this.#brush.hidden = false;
    this.#brush.style.left = `${(Math.min(here, this.#start) - from) * width}%`;
    this.#brush.style.width = `${(Math.abs(here - this.#start) + 1) * width}%`;
  }

  #drop(event: PointerEvent): void {
    const start = this.#start;
    const here = this.#under(event);
    this.#start = -1;
    this.#brush.hidden = true;
    if (start >= 0 && here !== start) this.changed(Math.min(start, here), Math.max(start, here));
  }
}

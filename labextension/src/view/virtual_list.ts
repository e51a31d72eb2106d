/** A list of which only the visible rows exist: ten thousand ops scroll like ten. */

import { el } from "./dom";

export class VirtualList {
  readonly host: HTMLElement;
  readonly #inner = el("ol", { class: "agi-virtual" });
  #from = -1;

  constructor(
    name: string,
    private readonly count: number,
    private readonly height: number,
    private readonly make: (index: number) => HTMLElement,
  ) {
    this.#inner.style.height = `${count * height}px`;
    this.host = el(
      "div",
      {
        class: "agi-scroll",
        tabindex: "0",
        role: "group",
        "aria-label": name,
        on: { scroll: () => this.#draw(false) },
      },
      this.#inner,
    );
    this.#draw(true);
  }

  /** Make the rows again. */
  refresh(): void {
    this.#draw(true);
  }

  reveal(index: number): void {
    const top = index * this.height;
    const view = this.host.clientHeight || 400;
    if (top < this.host.scrollTop || top + this.height > this.host.scrollTop + view) {
      this.host.scrollTop = Math.max(0, top - view / 2);
    }
    this.#draw(true);
  }

  #draw(always: boolean): void {
    const view = this.host.clientHeight || 400;
    const from = Math.max(0, Math.floor(this.host.scrollTop / this.height) - 10);
    if (from === this.#from && !always) return;
    this.#from = from;
    const to = Math.min(this.count, from + Math.ceil(view / this.height) + 20);
    const rows: HTMLElement[] = [];
    for (let n = from; n < to; n++) {
      const row = this.make(n);
      row.style.transform = `translateY(${n * this.height}px)`;
      row.setAttribute("aria-setsize", String(this.count));
      row.setAttribute("aria-posinset", String(n + 1));
      rows.push(row);
    }
    this.#inner.replaceChildren(...rows);
  }
}

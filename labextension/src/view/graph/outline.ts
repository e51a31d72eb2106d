/** The graph as a tree of modules and nodes, beside the picture: read aloud row by row, or looked at when shown. */

import type { Box, Tree } from "../../layout/box";
import type { Labels } from "../../layout/labels";
import { trans } from "../../words";
import { el } from "../dom";
import type { Facts } from "./facts";
import { rowOf } from "./outline_row";
import { openTo, type Row, rowsOf, stepFrom } from "./outline_rows";

const HEIGHT = 24;
/** Rows beyond those in sight that exist all the same. */
const MARGIN = 8;

let count = 0;

export class Outline {
  readonly root = el("div", {
    class: "agi-outline",
    tabindex: "0",
    role: "tree",
    "aria-label": trans.__("Outline of the graph"),
    on: {
      keydown: (event) => this.#onKey(event as KeyboardEvent),
      click: (event) => this.#onClick(event as MouseEvent),
      scroll: () => this.#draw(),
      focus: () => this.#draw(),
    },
  });
  readonly #spacer = el("div", { role: "none" });
  readonly #id = `agi-outline-${++count}`;
  #rows: Row[] = [];
  #active = 0;
  #selected: ReadonlySet<number> = new Set();

  constructor(
    private readonly tree: Tree,
    private readonly labels: Labels,
    private readonly facts: Facts[],
    private readonly open: Set<number>,
    private readonly picked: (box: Box) => void,
  ) {
    this.#rows = rowsOf(tree, this.open);
    this.#draw();
  }

  /** Beside the picture for everyone; else it appears only while it has the focus. */
  show(on: boolean): void {
    this.root.classList.toggle("agi-shown", on);
    this.#draw();
  }

  /** What is selected, in the picture or elsewhere; the first of it comes into sight. */
  select(selected: ReadonlySet<number>): void {
    this.#selected = selected;
    const [first] = selected;
    const box = first === undefined ? undefined : this.tree.boxes[first];
    if (box) {
      openTo(this.open, box);
      this.#rows = rowsOf(this.tree, this.open);
      this.#go(this.#rows.findIndex((row) => row.box === box));
    } else this.#draw();
  }

  #toggle(at: number): void {
    const { box } = this.#rows[at]!;
    if (box.children.length === 0) return;
    if (!this.open.delete(box.id)) this.open.add(box.id);
    this.#rows = rowsOf(this.tree, this.open);
    this.#go(this.#rows.findIndex((row) => row.box === box));
  }

  #go(at: number): void {
    this.#active = Math.min(Math.max(at, 0), this.#rows.length - 1);
    const top = this.#active * HEIGHT;
    const view = this.root.clientHeight || HEIGHT;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top + HEIGHT > this.root.scrollTop + view) this.root.scrollTop = top + HEIGHT - view;
    this.#draw();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.#rows.length === 0) return;
    const { box, open } = this.#rows[this.#active]!;
    if (event.key === "Enter" || event.key === " ") this.picked(box);
    else {
      const step = stepFrom(this.#rows, this.#active, event.key);
      if (step === "toggle" && open !== (event.key === "ArrowRight")) this.#toggle(this.#active);
      else if (typeof step === "number") this.#go(step);
      else return;
    }
    event.preventDefault();
  }

  #onClick(event: Event): void {
    const target = event.target as Element;
    const at = Number(target.closest("[data-row]")?.getAttribute("data-row") ?? -1);
    const row = this.#rows[at];
    if (!row) return;
    this.#active = at;
    if (target.closest(".agi-twisty")) this.#toggle(at);
    else this.picked(row.box);
  }

  /** Only rows in sight exist: a graph of 50,000 nodes scrolls like one of ten. */
  #draw(): void {
    const view = this.root.clientHeight || 20 * HEIGHT;
    const first = Math.floor(this.root.scrollTop / HEIGHT) - MARGIN;
    const last = first + Math.ceil(view / HEIGHT) + 2 * MARGIN;
    const made: HTMLElement[] = [];
    for (let at = Math.max(0, first); at < Math.min(this.#rows.length, last); at++) {
      const row = rowOf(this.#rows[at]!, this.labels, this.facts);
      row.id = `${this.#id}-${this.#rows[at]!.box.id}`;
      row.dataset.row = String(at);
      row.style.top = `${at * HEIGHT}px`;
      row.setAttribute("aria-selected", String(this.#selected.has(this.#rows[at]!.box.id)));
      row.classList.toggle("agi-active", at === this.#active);
      made.push(row);
    }
    this.#spacer.style.height = `${this.#rows.length * HEIGHT}px`;
    this.root.replaceChildren(this.#spacer, ...made);
    const active = this.#rows[this.#active];
    if (active) this.root.setAttribute("aria-activedescendant", `${this.#id}-${active.box.id}`);
  }
}

/** What is written in a box, and how large the box must be for it. */

import type { Box, Tree } from "./box";
import { Names } from "./names";
import { type Remark, remarksOf } from "./remarks";
import type { Measure } from "./text";

export interface Line {
  text: string;
  role: "title" | "small" | Remark["role"];
}

export interface Label {
  lines: Line[];
  width: number;
  height: number;
}

/** Room of the button that opens and closes a box. */
export const TOGGLE = 18;
/** From one line to the next, and above the first. */
export const heightOfLine = (role: Line["role"]): number => (role === "title" ? 16 : 14);
export const PAD = { x: 10, y: 6 };
/** A chain stays a column: narrow labels do not make narrow boxes. */
const NARROWEST = 56;

export class Labels {
  readonly #cache = new Map<Box, Label>();
  readonly #said = new Map<Box, Line[]>();
  readonly #names: Names;

  constructor(
    private readonly tree: Tree,
    private readonly measure: Measure,
  ) {
    this.#names = new Names(tree);
  }

  of(box: Box): Label {
    let label = this.#cache.get(box);
    if (!label) {
      label = this.#sized(box, this.lines(box));
      this.#cache.set(box, label);
    }
    return label;
  }

  /** What is written, without its size. */
  lines(box: Box): Line[] {
    let lines = this.#said.get(box);
    if (!lines) {
      const [title, subtitle] = this.#names.of(box);
      lines = [{ text: title, role: "title" }];
      if (subtitle) lines.push({ text: subtitle, role: "small" });
      lines.push(...remarksOf(box, this.tree));
      this.#said.set(box, lines);
    }
    return lines;
  }

  /** Name and class, for the head of an open box. */
  head(box: Box): [string, string] {
    return this.#names.head(box);
  }

  headWidth(box: Box): number {
    const [title, type] = this.head(box);
    return this.measure(title, "title") + (type ? 8 + this.measure(type, "small") : 0);
  }

  width(text: string, role: "title" | "small"): number {
    return this.measure(text, role);
  }

  #sized(box: Box, lines: Line[]): Label {
    let width = 0;
    let height = 2 * PAD.y;
    for (const line of lines) {
      width = Math.max(width, this.measure(line.text, line.role === "title" ? "title" : "small"));
      height += heightOfLine(line.role);
    }
    const extra = box.children.length > 0 ? TOGGLE : slant(box);
    // Multiples of eight: boxes of nearly the same width line up, and share one layout.
    width = Math.ceil(Math.max(width + extra + 2 * PAD.x, NARROWEST) / 8) * 8;
    return { lines, width, height };
  }
}

/** Shapes with slanted or cut sides need more room for the same text. */
function slant(box: Box): number {
  const kind = box.node?.kind;
  return kind === "input" || kind === "function" || kind === "step" || kind === "gradient" ? 14 : 0;
}

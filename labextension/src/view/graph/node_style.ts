/** Kinds of things by shape and colour. The colours are CSS variables: --agi-<tone>-fill and --agi-<tone>-line. */

import type { Box } from "../../layout/box";
import type { Item } from "../../layout/scene";
import { startsBackward } from "../../model/shown";
import { trans } from "../../words";
import type { Facts } from "./facts";

export type Look =
  | "module"
  | "op"
  | "still"
  | "output"
  | "function"
  | "step"
  | "autograd"
  | "parameter"
  | "frozen"
  | "buffer"
  | "input"
  | "gradient"
  | "cut"
  | "healed"
  | "modified";

export const MEANING: Record<Look, () => string> = {
  module: () => trans.__("folded, + opens it"),
  op: () => trans.__("op, gradient flows back"),
  still: () => trans.__("no gradient"),
  output: () => trans.__("backward starts here"),
  function: () => trans.__("custom Function"),
  step: () => trans.__("optimizer step"),
  autograd: () => trans.__("autograd node without a recorded op"),
  parameter: () => trans.__("parameter"),
  frozen: () => trans.__("frozen or without gradient"),
  buffer: () => trans.__("buffer"),
  input: () => trans.__("input"),
  gradient: () => trans.__("gradient (.grad)"),
  cut: () => trans.__("gradient is cut"),
  healed: () => trans.__("cut without effect"),
  modified: () => trans.__("saved before, modified after"),
};

export function lookOf(item: Item, facts: Facts[]): Look {
  if (item.cut?.kind === "modified") return "modified";
  if (item.cut) return item.cut.severity ? "cut" : "healed";
  return lookOfBox(item.box!, facts);
}

export function lookOfBox(box: Box, facts: Facts[]): Look {
  const { tracked } = facts[box.id]!;
  const node = box.node ?? (box.kind === "crowd" ? box.children[0]!.node! : null);
  const idle = box.kind === "apart" || box.kind === "setup";
  if (!node) return tracked && !idle ? "module" : "still";
  if (node.kind === "parameter") {
    return node.tracked && node.gradient !== "none" ? "parameter" : "frozen";
  }
  if (node.kind !== "op") return node.kind;
  if (startsBackward(node)) return "output";
  return tracked ? "op" : "still";
}

/** The name of its colours: its look, but of a cut how grave it is. */
export function toneOf(item: Item, look: Look): string {
  return item.cut?.severity || look;
}

/** The outline, from (0, 0). Leaves have corners, what computes is round, what is opaque is cut. */
export function outline(look: Look, leaf: boolean, w: number, h: number): string {
  switch (look) {
    case "parameter":
    case "frozen":
      return `M0 0H${w}V${h}H0Z`;
    case "buffer":
      return `M0 0H${w - 9}L${w} 9V${h}H0ZM${w - 9} 0V9H${w}`;
    case "input":
      return `M9 0H${w}L${w - 9} ${h}H0Z`;
    case "gradient":
      return `M0 0H${w}L${w - 9} ${h}H9Z`;
    case "function":
      return `M9 0H${w - 9}L${w} ${h / 2}L${w - 9} ${h}H9L0 ${h / 2}Z`;
    case "step":
      return octagon(w, h, Math.min(8, h / 3));
    case "autograd":
      return rounded(0, w, h, 16);
    case "cut":
    case "healed":
    case "modified":
      return rounded(0, w, h, 10);
    case "output":
      return rounded(0, w, h, 7) + rounded(3, w, h, 5);
    default:
      return rounded(0, w, h, leaf ? 0 : 6);
  }
}

function octagon(w: number, h: number, c: number): string {
  return `M${c} 0H${w - c}L${w} ${c}V${h - c}L${w - c} ${h}H${c}L0 ${h - c}V${c}Z`;
}

function rounded(inset: number, w: number, h: number, most: number): string {
  const r = Math.min(most, h / 2 - inset);
  const [x, y, right, bottom] = [inset, inset, w - inset, h - inset];
  return (
    `M${x + r} ${y}H${right - r}A${r} ${r} 0 0 1 ${right} ${y + r}V${bottom - r}` +
    `A${r} ${r} 0 0 1 ${right - r} ${bottom}H${x + r}A${r} ${r} 0 0 1 ${x} ${bottom - r}` +
    `V${y + r}A${r} ${r} 0 0 1 ${x + r} ${y}Z`
  );
}

/** The bar over an open box. */
export function headOf(w: number, h: number): string {
  return `M0 ${h}V6A6 6 0 0 1 6 0H${w - 6}A6 6 0 0 1 ${w} 6V${h}Z`;
}

/** Minus in the button of an open box, plus in that of a closed one. */
export const signOf = (open: boolean): string => (open ? "M3 0H9" : "M3 0H9M6 -3V3");

/** Repetitions stand on a pile of their like. */
export function pile(w: number, h: number): string {
  return `M4 ${h}V${h + 3}H${w + 3}V4H${w}M8 ${h + 3}V${h + 6}H${w + 6}V8H${w + 3}`;
}

export function arrow(x: number, y: number, up: boolean): string {
  const back = up ? 6 : -6;
  return `M${x} ${y}L${x - 3.5} ${y + back}H${x + 3.5}Z`;
}

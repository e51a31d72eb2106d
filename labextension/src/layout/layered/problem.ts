/** What is to be drawn in layers, and the answer: plain numbers, so that equal problems share one answer. */

/** `entry` and `exit`: gates in the upper and lower border, where wires come in and go out. */
export type Role = "item" | "entry" | "exit";

export interface Target {
  element: number;
  /** Where the wire meets the top of its element, from the element's left; null: wherever is best. */
  at: number | null;
  /** How much it matters that the wire runs straight. */
  weight: number;
}

export interface Wire {
  source: number;
  /** The same at the bottom of the source. */
  at: number | null;
  targets: Target[];
}

export interface Problem {
  /** Elements in program order. */
  width: number[];
  height: number[];
  role: Role[];
  /** Whether gradient flows there. */
  flows: boolean[];
  wires: Wire[];
}

/**
 * The way of a wire: a trunk that runs down through the ranks, and from it a stub to each target.
 * `trunk[k]` is its x in rank `rank + k`. Between two ranks nothing else is drawn, and within one only the
 * wire's own column is used: that is why no wire passes a foreign box.
 */
export interface Route {
  rank: number;
  /** Where it leaves its source. */
  top: number;
  trunk: number[];
  stubs: Stub[];
}

export interface Stub {
  /** Which target of the wire. */
  target: number;
  rank: number;
  x: number;
  /** Where it meets its target. */
  bottom: number;
  /** It leads back up: the arrow belongs at the trunk's end. */
  back: boolean;
}

export interface Answer {
  x: number[];
  y: number[];
  width: number;
  height: number;
  /** Upper and lower border of every rank. */
  tops: number[];
  bottoms: number[];
  /** By wire, and those of wires that lead back up behind them. */
  routes: { wire: number; route: Route }[];
}

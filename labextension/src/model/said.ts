/** Counts, and the fixed terms of the wire, in the page's language. */

import { trans } from "../words";

/** `50,001`. */
export const grouped = (count: number): string => count.toLocaleString("en");

/** Whole forms: other languages have more of them, and other endings. */
const COUNTED = {
  "autograd node": (n: number, shown: string) =>
    trans._n("%2 autograd node", "%2 autograd nodes", n, shown),
  buffer: (n: number, shown: string) => trans._n("%2 buffer", "%2 buffers", n, shown),
  error: (n: number, shown: string) => trans._n("%2 error", "%2 errors", n, shown),
  finding: (n: number, shown: string) => trans._n("%2 finding", "%2 findings", n, shown),
  gradient: (n: number, shown: string) => trans._n("%2 gradient", "%2 gradients", n, shown),
  hook: (n: number, shown: string) => trans._n("%2 hook", "%2 hooks", n, shown),
  input: (n: number, shown: string) => trans._n("%2 input", "%2 inputs", n, shown),
  match: (n: number, shown: string) => trans._n("%2 match", "%2 matches", n, shown),
  mismatch: (n: number, shown: string) => trans._n("%2 mismatch", "%2 mismatches", n, shown),
  node: (n: number, shown: string) => trans._n("%2 node", "%2 nodes", n, shown),
  op: (n: number, shown: string) => trans._n("%2 op", "%2 ops", n, shown),
  parameter: (n: number, shown: string) => trans._n("%2 parameter", "%2 parameters", n, shown),
  step: (n: number, shown: string) => trans._n("%2 step", "%2 steps", n, shown),
  update: (n: number, shown: string) => trans._n("%2 update", "%2 updates", n, shown),
  warning: (n: number, shown: string) => trans._n("%2 warning", "%2 warnings", n, shown),
};
export type Noun = keyof typeof COUNTED;

export function counted(count: number, noun: Noun): string {
  return COUNTED[noun](count, grouped(count));
}

/** How many of a list are not shown. */
export function andMore(count: number): string {
  return trans._n("and %1 more", "and %1 more", count);
}

/** A severity, a kind, a state; what is no term of the wire stays as it is. */
export function term(name: string): string {
  switch (name) {
    case "error":
      return trans.__("error");
    case "warning":
      return trans.__("warning");
    case "info":
      return trans.__("info");
    case "op":
      return trans.__("op");
    case "function":
      return trans.__("custom autograd.Function");
    case "step":
      return trans.__("optimizer step");
    case "autograd":
      return trans.__("autograd node");
    case "parameter":
      return trans.__("parameter");
    case "buffer":
      return trans.__("buffer");
    case "input":
      return trans.__("input");
    case "gradient":
      return trans.__("gradient");
    case "activation":
      return trans.__("activation");
    case "frozen":
      return trans.__("frozen");
    case "orphan":
      return trans.__("orphan");
    case "no state":
      return trans.__("no state");
    case "valid":
      return trans.__("valid");
    case "modified":
      return trans.__("modified");
    case "freed":
      return trans.__("freed");
    case "packed":
      return trans.__("packed");
    case "unverifiable":
      return trans.__("unverifiable");
    default:
      return name;
  }
}

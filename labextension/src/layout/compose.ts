/** Every open box laid out alone, from the inside out; boxes of equal structure share one answer. */

import { trans } from "../words";
import type { Box } from "./box";
import { type Labels, TOGGLE } from "./labels";
import { solve } from "./layered";
import type { Answer, Problem, Role } from "./layered/problem";
import type { Branch, Cut, End, Net, Scope } from "./lift";
import type { Open } from "./visible";
import type { Work } from "./work";

/** The bar with an open box's name. Wires meet it like a closed box, and go on below it. */
export const HEAD = 24;
const PAD = 14;
const MARGIN = 24;
const CUT_HEIGHT = 20;
/** The way of gradient is the spine of the picture. */
const STRAIGHT = { gradient: 6, severed: 3, modified: 3, data: 1 };

export type Memo = Map<string, Answer>;

/** An open box with all that it shows, at coordinates of its own. */
export interface Placed {
  box: Box;
  width: number;
  height: number;
  /** Where the answer's origin lies. */
  dx: number;
  dy: number;
  answer: Answer;
  parts: Part[];
  sizes: { width: number[]; height: number[] };
  /** The open ones among its children. */
  opened: Set<Box>;
  gates: Gates;
  nets: { net: Net; targets: Branch[] }[];
}

/** Number of the part that is the gate of an origin. */
type Gates = Record<"entry" | "exit", Map<number, number>>;

export type Part =
  | { closed: Box }
  | { open: Placed }
  | { cut: Cut }
  | { gate: number; role: "entry" | "exit" };

export function* compose(
  box: Box,
  open: Open,
  scopes: Map<Box, Scope>,
  labels: Labels,
  memo: Memo,
): Work<Placed> {
  const scope = scopes.get(box) ?? { box, cuts: [], ins: [], outs: [], nets: new Map() };
  const parts: Part[] = scope.ins.map((gate) => ({ gate, role: "entry" }));
  for (const child of box.children) {
    if (!open.has(child.id) || child.children.length === 0) parts.push({ closed: child });
    else parts.push({ open: yield* compose(child, open, scopes, labels, memo) });
  }
  for (const cut of scope.cuts) parts.push({ cut });
  for (const gate of scope.outs) parts.push({ gate, role: "exit" });
  yield;
  const nets = [...scope.nets.values()].map((net) => ({
    net,
    targets: [...net.branches.values()],
  }));
  const problem = problemOf(parts, nets, labels);
  yield;
  const key = JSON.stringify(problem);
  let answer = memo.get(key);
  if (!answer) {
    answer = yield* solve(problem);
    memo.set(key, answer);
  }
  const opened = new Set(parts.flatMap((part) => ("open" in part ? [part.open.box] : [])));
  const gates = gatesOf(parts);
  const frame = framed(box, scope, answer, labels);
  return { parts, nets, answer, opened, gates, sizes: problem, ...frame };
}

function framed(
  box: Box,
  scope: Scope,
  answer: Answer,
  labels: Labels,
): Pick<Placed, "box" | "width" | "height" | "dx" | "dy"> {
  if (box.kind === "root") {
    const [width, height] = [answer.width + 2 * MARGIN, answer.height + 2 * MARGIN];
    return { box, width, height, dx: MARGIN, dy: MARGIN };
  }
  const head = Math.ceil(labels.headWidth(box)) + 2 * PAD + TOGGLE;
  const width = Math.ceil(Math.max(answer.width + 2 * PAD, head) / 8) * 8;
  const dy = HEAD + (scope.ins.length > 0 ? 0 : PAD);
  const height = dy + answer.height + (scope.outs.length > 0 ? 0 : PAD);
  return { box, width, height, dx: Math.round((width - answer.width) / 2), dy };
}

export function cutText(cut: Cut): string {
  if (cut.kind === "modified") return cut.cause;
  return `✂ ${cut.cause || trans.__("cut")}${cut.times > 1 ? ` ×${cut.times}` : ""}`;
}

function problemOf(parts: Part[], nets: Placed["nets"], labels: Labels): Problem {
  const sizes = parts.map((part): [number, number] => {
    if ("closed" in part) {
      const { width, height } = labels.of(part.closed);
      return [width, height];
    }
    if ("open" in part) return [part.open.width, part.open.height];
    if ("cut" in part)
      return [Math.ceil(labels.width(cutText(part.cut), "small")) + 20, CUT_HEIGHT];
    return [0, 0];
  });
  const number = numbering(parts);
  return {
    width: sizes.map((size) => size[0]),
    height: sizes.map((size) => size[1]),
    role: parts.map((part): Role => ("role" in part ? part.role : "item")),
    flows: parts.map((part) => boxOf(part)?.flows === true),
    wires: nets.map(({ net, targets }) => {
      const source = number(net.from, "entry");
      return {
        source,
        at: gateOf(parts[source]!, net.origin, "exit"),
        targets: targets.map(({ end, kind }) => {
          const element = number(end, "exit");
          const at = gateOf(parts[element]!, net.origin, "entry");
          return { element, at, weight: STRAIGHT[kind] };
        }),
      };
    }),
  };
}

function boxOf(part: Part): Box | undefined {
  return "closed" in part ? part.closed : "open" in part ? part.open.box : undefined;
}

/** Number of the part at which a wire ends. */
export function numbering(parts: Part[]): (end: End, gates: "entry" | "exit") => number {
  const numbers = new Map<string, number>();
  parts.forEach((part, at) => {
    if ("closed" in part) numbers.set(`b${part.closed.id}`, at);
    else if ("open" in part) numbers.set(`b${part.open.box.id}`, at);
    else if ("cut" in part) numbers.set(`c${part.cut.id}`, at);
    else numbers.set(`${part.role}${part.gate}`, at);
  });
  return (end, gates) => {
    if ("box" in end) return numbers.get(`b${end.box.id}`)!;
    if ("cut" in end) return numbers.get(`c${end.cut.id}`)!;
    return numbers.get(`${gates}${end.gate}`)!;
  };
}

/** Where a wire passes the border of an open box, from its left. */
function gateOf(part: Part, origin: number, role: "entry" | "exit"): number | null {
  if (!("open" in part)) return null;
  const { gates, answer, dx } = part.open;
  const at = gates[role].get(origin);
  return at === undefined ? null : dx + answer.x[at]!;
}

function gatesOf(parts: Part[]): Gates {
  const gates: Gates = { entry: new Map(), exit: new Map() };
  parts.forEach((part, at) => {
    if ("gate" in part) gates[part.role].set(part.gate, at);
  });
  return gates;
}

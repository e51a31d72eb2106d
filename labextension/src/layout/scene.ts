/** The composed layout -> what to paint, at absolute coordinates: boxes from the outside in, then wires. */

import type { EdgeKind, Severity } from "../model/graph";
import type { Box } from "./box";
import type { Placed } from "./compose";
import { cutText } from "./compose";
import type { Route, Stub } from "./layered/problem";
import type { Cut, End } from "./lift";
import type { Work } from "./work";

/** Wires between two places where the work may be interrupted. */
const STEP = 1_000;

export interface Item {
  /** Unique in the scene: the id of its box, or of its cut. */
  id: number;
  box: Box | null;
  cut: Cut | null;
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** A box that shows what is in it. */
  open: boolean;
}

/** Down from (x1, y1) to `bend1`, across to x2 at `bend2`, down to y2. */
export interface Stroke {
  x1: number;
  y1: number;
  bend1: number;
  bend2: number;
  x2: number;
  y2: number;
}

export interface Wire {
  origin: number;
  scope: Box;
  kind: EdgeKind;
  hot: boolean;
  /** Of the value that leaves a closed box, which says nothing of it; else "". */
  shape: string;
  /** How grave the cut is that it comes from. */
  severity: Severity | "";
  /** What it joins within its scope: ids of items. */
  from: number;
  to: number[];
  left: number;
  right: number;
  top: number;
  bottom: number;
  strokes(): Stroke[];
  /** Tips of arrows: x, y, and whether it points up. */
  tips(): [number, number, boolean][];
}

export interface Scene {
  width: number;
  height: number;
  items: Item[];
  wires: Wire[];
}

export function* makeScene(root: Placed): Work<Scene> {
  const scene: Scene = { width: root.width, height: root.height, items: [], wires: [] };
  yield* add(root, 0, 0, scene);
  return scene;
}

function* add(placed: Placed, left: number, top: number, scene: Scene): Work<void> {
  const { answer, parts, box } = placed;
  const [x0, y0] = [left + placed.dx, top + placed.dy];
  for (const [at, part] of parts.entries()) {
    const [x, y] = [x0 + answer.x[at]!, y0 + answer.y[at]!];
    const plain = { box: null, cut: null, text: "", open: false, x, y };
    if ("closed" in part) {
      const [width, height] = answerSize(placed, at);
      scene.items.push({ ...plain, id: part.closed.id, box: part.closed, width, height });
    } else if ("cut" in part) {
      const [width, height] = answerSize(placed, at);
      scene.items.push({
        ...plain,
        id: part.cut.id,
        cut: part.cut,
        text: cutText(part.cut),
        width,
        height,
      });
    } else if ("open" in part) {
      const { width, height } = part.open;
      scene.items.push({
        ...plain,
        id: part.open.box.id,
        box: part.open.box,
        open: true,
        width,
        height,
      });
      yield* add(part.open, x, y, scene);
    }
  }
  yield* addWires(placed, x0, y0, box, scene);
}

function answerSize(placed: Placed, at: number): [number, number] {
  return [placed.sizes.width[at]!, placed.sizes.height[at]!];
}

function* addWires(placed: Placed, x0: number, y0: number, scope: Box, scene: Scene): Work<void> {
  for (const { wire: number, route } of placed.answer.routes) {
    const { net, targets } = placed.nets[number]!;
    const groups = new Map<string, Stub[]>();
    for (const stub of route.stubs) {
      const branch = targets[stub.target]!;
      const key = `${branch.kind} ${branch.hot}`;
      const group = groups.get(key);
      if (group) group.push(stub);
      else groups.set(key, [stub]);
    }
    const [first] = groups.values();
    for (const stubs of groups.values()) {
      const { kind, hot } = targets[stubs[0]!.target]!;
      const ends = stubs.map((stub) => targets[stub.target]!.end);
      const xs = [...route.trunk, ...stubs.map((stub) => stub.x)];
      if (scene.wires.length % STEP === 0) yield;
      scene.wires.push({
        origin: net.origin,
        scope,
        kind,
        hot,
        shape: stubs === first && leavesClosed(placed, net.from) ? net.shape : "",
        severity: "cut" in net.from ? net.from.cut.severity : "",
        from: "box" in net.from ? net.from.box.id : "cut" in net.from ? net.from.cut.id : -1,
        to: ends.map((end) => ("box" in end ? end.box.id : "cut" in end ? end.cut.id : -1)),
        left: x0 + Math.min(...xs),
        right: x0 + Math.max(...xs),
        top: y0 + route.top,
        bottom: y0 + Math.max(...stubs.map((stub) => stub.bottom)),
        strokes: () => strokesOf(route, stubs, placed.answer, x0, y0),
        tips: () =>
          stubs
            .filter((stub, at) => stub.back || pointsAt(placed, ends[at]!))
            .map((stub) =>
              stub.back
                ? [x0 + route.trunk[0]!, y0 + route.top, true]
                : [x0 + stub.x, y0 + stub.bottom, false],
            ),
      });
    }
  }
}

function leavesClosed(placed: Placed, from: End): boolean {
  return "box" in from && from.box.children.length > 0 && !placed.opened.has(from.box);
}

/** A wire that goes on inside an open box, or through a gate, has no tip yet. */
function pointsAt(placed: Placed, end: End): boolean {
  return "box" in end && !placed.opened.has(end.box);
}

function strokesOf(
  route: Route,
  stubs: Stub[],
  { tops, bottoms }: Placed["answer"],
  x0: number,
  y0: number,
): Stroke[] {
  const last = Math.max(...stubs.map((stub) => stub.rank)) - route.rank - 1;
  const down = (k: number, x2: number, y2: number): Stroke => ({
    x1: x0 + route.trunk[k]!,
    y1: y0 + (k === 0 ? route.top : tops[route.rank + k]!),
    bend1: y0 + bottoms[route.rank + k]!,
    bend2: y0 + tops[route.rank + k + 1]!,
    x2: x0 + x2,
    y2: y0 + y2,
  });
  const strokes: Stroke[] = [];
  for (let k = 0; k < last; k++)
    strokes.push(down(k, route.trunk[k + 1]!, tops[route.rank + k + 1]!));
  for (const stub of stubs) strokes.push(down(stub.rank - route.rank - 1, stub.x, stub.bottom));
  return strokes;
}

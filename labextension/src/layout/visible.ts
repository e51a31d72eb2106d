/** Which boxes are open: at the start, to a depth, all, or only where something went wrong. */

import type { Box, BoxKind, Tree } from "./box";
import { isLeaf } from "./leaves";
import { firstProblem } from "./problems";

/** Ids of the open boxes; a box in it is drawn open only if all around it are. */
export type Open = Set<number>;

const FEWEST = 10;
const ENOUGH = 26;
const MOST = 60;
/** Opening all shows at most this many boxes. */
const ALL = 60_000;

/** The level that shows 10 to 60 boxes, rather few, and the way to the first finding; of equal rounds one is open. */
export function opening(tree: Tree): Open {
  let best = toLevel(tree, 0);
  for (let level = 1; ; level++) {
    const next = toLevel(tree, level);
    const few = count(tree, best) < FEWEST;
    if (next.size === best.size || count(tree, next) > (few ? MOST : ENOUGH)) {
      if (few) best = largestFirst(tree, best);
      break;
    }
    best = next;
  }
  for (const box of firstProblem(tree)) openAround(best, box);
  return best;
}

function toLevel(tree: Tree, level: number): Open {
  return new Set(
    groups(
      tree,
      (box) =>
        box.depth <= level &&
        !sameAgain(box) &&
        (!quiet(box) || (box.kind === "module" && level < 2)),
    ),
  );
}

/** Modules down to `depth`; repetitions on the way are open where their modules are to be seen. */
export function toDepth(tree: Tree, depth: number): Open {
  return new Set(
    groups(tree, (box) =>
      box.kind === "module" || box.kind === "root"
        ? box.modules < depth || box.kind === "root"
        : box.modules < depth && box.kind !== "crowd" && !quiet(box),
    ),
  );
}

export function everything(tree: Tree): Open {
  let shown = 0;
  const open = new Set<number>();
  for (let row: Box[] = [tree.root]; row.length > 0 && shown < ALL; ) {
    for (const box of row) open.add(box.id);
    row = row.flatMap((box) => box.children);
    shown += row.length;
    row = row.filter((box) => box.children.length > 0);
  }
  return open;
}

export function openAround(open: Open, box: Box): void {
  for (let at = box.parent; at; at = at.parent) open.add(at.id);
}

/** Children of open boxes, open ones left out. */
export function count(tree: Tree, open: Open): number {
  const visit = (box: Box): number =>
    open.has(box.id) ? box.children.reduce((sum, child) => sum + visit(child), 0) : 1;
  return visit(tree.root);
}

/** The box that stands for each box: itself, or the outermost closed one around it. */
export function standIns(tree: Tree, open: Open): Box[] {
  const result: Box[] = new Array(tree.boxes.length);
  // Boxes come before what they contain.
  for (const box of tree.boxes) {
    const around = box.parent;
    const standIn = around ? result[around.id]! : box;
    result[box.id] = around && standIn === around && open.has(around.id) ? box : standIn;
  }
  return result;
}

function groups(tree: Tree, chosen: (box: Box) => boolean): number[] {
  const ids: number[] = [];
  for (const box of tree.boxes) if (box.children.length > 0 && chosen(box)) ids.push(box.id);
  return ids;
}

const QUIET: ReadonlySet<BoxKind> = new Set(["crowd", "apart", "setup", "run"]);

/** Nobody opens these to understand a model. */
function quiet(box: Box): boolean {
  if (box.kind === "module") return opsIn(box) < 2 && !wraps(box);
  return QUIET.has(box.kind);
}

/** A round of a repetition, or a row of rounds, after the first: it is built as that one is. */
function sameAgain(box: Box): boolean {
  const around = box.parent;
  if (around === null || !repeats(around)) return false;
  return box !== around.children.find((child) => !isParameter(child));
}

/** A repetition, or a row of its rounds where they are too many for one row. */
function repeats(box: Box): boolean {
  if (box.kind !== "run") return box.kind === "repeat";
  return box.parent !== null && repeats(box.parent);
}

/** A module around another: open, it takes no more room than that. */
function wraps(box: Box): boolean {
  return box.children.some((child) => child.kind === "module");
}

/** Children but for the tensors. */
function opsIn(box: Box): number {
  let count = 0;
  for (const child of box.children) if (!isParameter(child)) count++;
  return count;
}

/** Also several at once. */
function isParameter(box: Box): boolean {
  return box.kind === "crowd" || (box.node !== null && isLeaf(box.node));
}

function largestFirst(tree: Tree, start: Open): Open {
  const open = new Set(start);
  let shown = count(tree, open);
  const inside = (box: Box): Box[] =>
    box.children.filter((c) => c.children.length > 0 && !quiet(c) && !sameAgain(c));
  let closed = [...open].flatMap((id) => inside(tree.boxes[id]!));
  while (closed.length > 0 && shown < FEWEST) {
    closed = closed.filter((box) => !open.has(box.id) && shown + box.children.length - 1 <= MOST);
    closed.sort((a, b) => b.size - a.size || a.id - b.id);
    const [largest] = closed;
    if (!largest) break;
    open.add(largest.id);
    shown += largest.children.length - 1;
    closed.push(...inside(largest));
  }
  return open;
}

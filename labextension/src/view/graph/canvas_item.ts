/** One box, cut or open frame on a canvas, as paint_item.ts has it in SVG. */

import { HEAD } from "../../layout/compose";
import { heightOfLine, type Labels, type Line, PAD, TOGGLE } from "../../layout/labels";
import { isLeaf } from "../../layout/leaves";
import type { Item } from "../../layout/scene";
import { BADGES, badgeAt, growth, severityOfItem } from "./badge";
import type { Facts } from "./facts";
import { FONT } from "./measure";
import { headOf, type Look, lookOf, outline, pile, signOf, toneOf } from "./node_style";

export interface Brush {
  pen: CanvasRenderingContext2D;
  colour: (name: string) => string;
  labels: Labels;
  facts: Facts[];
  /** "" where texts and shapes are too small to say anything. */
  family: string;
  /** A pixel of the screen, in the picture's own measure. */
  pixel: number;
  /** Of the box that is drawn; see Marks. */
  heat: number | null;
}

/** What marks a box beyond what it is. */
export interface Marks {
  dim: boolean;
  chosen: boolean;
  found: boolean;
  /** From 0 to 1; null where boxes have the colours of what they are. */
  heat: number | null;
}

const shapes = new WeakMap<Item, Path2D>();
const DASHED: ReadonlySet<Look> = new Set(["autograd", "frozen"]);

export function drawItem(brush: Brush, item: Item, marks: Marks): void {
  const { pen, colour, facts, pixel } = brush;
  const look = lookOf(item, facts);
  const severity = severityOfItem(item);
  pen.save();
  pen.translate(item.x, item.y);
  pen.globalAlpha = marks.dim ? 0.28 : 1;
  pen.fillStyle = colour(item.open ? "head" : `${toneOf(item, look)}-fill`);
  pen.strokeStyle = colour(item.open ? "frame-line" : `${toneOf(item, look)}-line`);
  pen.lineWidth = Math.max(1.2, 0.6 * pixel);
  if (severity && severity !== "info") {
    pen.strokeStyle = colour(`${severity}-line`);
    pen.lineWidth = Math.max(2.2, 1.2 * pixel);
  }
  if (marks.found || marks.chosen) {
    pen.strokeStyle = colour("hot");
    pen.lineWidth = (marks.chosen ? 3 : 2.2) * Math.max(pixel, 1);
  }
  if (brush.family) drawShape({ ...brush, heat: marks.heat }, item, look);
  else {
    const height = item.open ? HEAD : item.height;
    pen.fillRect(0, 0, item.width, height);
    pen.strokeRect(0, 0, item.width, height);
  }
  if (severity) drawBadge(brush, item, severity);
  pen.restore();
}

/** Stands for a box that is too small to be seen. */
export function drawDot({ pen, colour, pixel }: Brush, item: Item): void {
  const size = 4 * pixel;
  pen.fillStyle = colour("hot");
  const [x, y] = [item.x + item.width / 2, item.y + item.height / 2];
  pen.fillRect(x - size / 2, y - size / 2, size, size);
}

function drawShape(brush: Brush, item: Item, look: Look): void {
  const { pen, colour } = brush;
  const { width: w, height: h, box } = item;
  if (!item.open && (box?.kind === "repeat" || box?.kind === "crowd")) {
    pen.stroke(new Path2D(pile(w, h)));
  }
  if (item.cut?.kind === "severed") {
    pen.save();
    pen.lineWidth = 3;
    pen.stroke(new Path2D(`M${w / 2 - 12} ${h + 3}H${w / 2 + 12}`));
    pen.restore();
  }
  const leaf = box?.node ? isLeaf(box.node) : false;
  const shape = shapeOf(item, look, leaf);
  if (DASHED.has(look)) pen.setLineDash([4, 3]);
  if (brush.heat !== null && !item.cut) {
    pen.fillStyle = colour("paper");
    pen.fill(shape);
    const { globalAlpha } = pen;
    pen.globalAlpha = globalAlpha * brush.heat;
    pen.fillStyle = colour("heat");
    pen.fill(shape);
    pen.globalAlpha = globalAlpha;
  } else pen.fill(shape);
  pen.stroke(shape);
  pen.setLineDash([]);
  if (item.cut) {
    write(
      brush,
      [{ text: item.text, role: "small" }],
      w / 2,
      h / 2 - 10,
      pen.strokeStyle as string,
    );
  } else if (item.open) {
    const [title, type] = brush.labels.head(box!);
    const wide = brush.labels.width(title, "title");
    drawKnob(brush, HEAD / 2, true);
    write(brush, [{ text: title, role: "title" }], 8 + TOGGLE, 4.5, "", "left");
    write(brush, [{ text: type, role: "small" }], 16 + TOGGLE + wide, 6.5, "", "left");
  } else {
    const group = box!.children.length > 0;
    const still = look === "still" ? colour("label") : "";
    const middle = group ? (w + TOGGLE - 4) / 2 : w / 2;
    if (group) drawKnob(brush, h / 2, false);
    write(brush, brush.labels.of(box!).lines, middle, PAD.y, still);
  }
}

/** Made once an item: parsing a path takes longer than drawing it. */
function shapeOf(item: Item, look: Look, leaf: boolean): Path2D {
  let shape = shapes.get(item);
  if (!shape) {
    const { width, height, open } = item;
    shape = new Path2D(open ? headOf(width, HEAD) : outline(look, leaf, width, height));
    shapes.set(item, shape);
  }
  return shape;
}

function drawKnob({ pen, colour }: Brush, y: number, open: boolean): void {
  pen.save();
  pen.translate(8, y);
  pen.fillStyle = colour("paper");
  pen.strokeStyle = colour("label");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.roundRect(0, -6, 12, 12, 2.5);
  pen.fill();
  pen.stroke();
  pen.strokeStyle = colour("ink");
  pen.lineWidth = 1.5;
  pen.stroke(new Path2D(signOf(open)));
  pen.restore();
}

function write(
  brush: Brush,
  lines: Line[],
  x: number,
  top: number,
  ink = "",
  align: CanvasTextAlign = "center",
): void {
  const { pen, colour, family } = brush;
  let y = top;
  pen.textAlign = align;
  for (const { text, role } of lines) {
    y += heightOfLine(role);
    pen.font = `${role === "title" ? FONT.title : FONT.small} ${family}`;
    pen.fillStyle = ink && (role === "title" || lines.length === 1) ? ink : colour(inkOf(role));
    pen.fillText(text, x, y - 4);
  }
}

function inkOf(role: Line["role"]): string {
  if (role === "title") return "ink";
  return role === "small" || role === "note" ? "label" : `${role}-line`;
}

/** Never smaller than can be seen: it is what one looks for from afar. */
function drawBadge(brush: Brush, item: Item, severity: keyof typeof BADGES): void {
  const { pen, colour, pixel } = brush;
  pen.translate(...badgeAt(item));
  const scale = growth(severity, 1 / pixel);
  pen.scale(scale, scale);
  pen.fillStyle = colour(`${severity}-line`);
  pen.strokeStyle = colour("paper");
  pen.lineWidth = 1.5;
  const shape = new Path2D(BADGES[severity].shape);
  pen.stroke(shape);
  pen.fill(shape);
  pen.lineCap = "round";
  pen.lineWidth = 2;
  pen.stroke(new Path2D(BADGES[severity].sign));
}

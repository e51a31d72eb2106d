/** What is written in a box, and how large the box must be for it. */

import type { GraphNode } from "../model/graph";
import type { Box, Tree } from "./box";
import { isLeaf } from "./leaves";
import { counted, listed, type Measure, opName, shown } from "./text";

export interface Line {
  text: string;
  role: "title" | "small" | "alarm" | "note";
}

export interface Label {
  lines: Line[];
  width: number;
  height: number;
}

/** Room of the button that opens and closes a box. */
export const TOGGLE = 18;
const PAD = { x: 10, y: 6 };
const HEIGHT = { title: 16, small: 14, alarm: 14, note: 14 };
/** A chain stays a column: narrow labels do not make narrow boxes. */
const NARROWEST = 56;

export class Labels {
  private readonly cache = new Map<Box, Label>();
  private readonly calls: Map<number, Tree["graph"]["calls"][number]>;
  private readonly times = new Map<string, number>();

  constructor(
    private readonly tree: Tree,
    private readonly measure: Measure,
  ) {
    this.calls = new Map(tree.graph.calls.map((call) => [call.id, call]));
    for (const call of tree.graph.calls) {
      const key = `${call.root} ${call.path}`;
      this.times.set(key, (this.times.get(key) ?? 0) + 1);
    }
  }

  of(box: Box): Label {
    let label = this.cache.get(box);
    if (!label) {
      label = this.sized(box, [...this.said(box), ...troublesOf(box), ...notesOf(box)]);
      this.cache.set(box, label);
    }
    return label;
  }

  /** Name and class, for the head of an open box. */
  head(box: Box): [string, string] {
    const [title, subtitle] = this.said(box);
    const type = subtitle?.text.split(" · ")[0] ?? "";
    return [title!.text, type === title!.text ? "" : type];
  }

  headWidth(box: Box): number {
    const [title, type] = this.head(box);
    return this.measure(title, "title") + (type ? 8 + this.measure(type, "small") : 0);
  }

  width(text: string, role: "title" | "small"): number {
    return this.measure(text, role);
  }

  private sized(box: Box, lines: Line[]): Label {
    let width = 0;
    let height = 2 * PAD.y;
    for (const line of lines) {
      width = Math.max(width, this.measure(line.text, line.role === "title" ? "title" : "small"));
      height += HEIGHT[line.role];
    }
    const extra = box.children.length > 0 ? TOGGLE : slant(box);
    // Multiples of eight: boxes of nearly the same width line up, and share one layout.
    width = Math.ceil(Math.max(width + extra + 2 * PAD.x, NARROWEST) / 8) * 8;
    return { lines, width, height };
  }

  private said(box: Box): Line[] {
    const [title, subtitle] = box.node ? this.ofNode(box, box.node) : this.ofGroup(box);
    const lines: Line[] = [{ text: title, role: "title" }];
    if (subtitle) lines.push({ text: subtitle, role: "small" });
    return lines;
  }

  private ofNode(box: Box, node: GraphNode): [string, string] {
    if (!isLeaf(node)) return [opName(node.name), node.shape && `→ ${shown(node.shape)}`];
    const within = this.pathOf(box.parent);
    const inside = within !== "" && node.name.startsWith(`${within}.`);
    const name = shown(inside ? node.name.slice(within.length + 1) : node.name);
    const kind = node.kind === "parameter" && !node.tracked ? "frozen" : node.kind;
    const missing = node.gradient === "none" ? " · no gradient" : "";
    return name ? [name, `${kind} ${shown(node.shape)}`.trim() + missing] : [kind, node.shape];
  }

  private ofGroup(box: Box): [string, string] {
    const inside = box.children;
    const names = (): string[] => inside.map((child) => this.nameOf(child));
    switch (box.kind) {
      case "module": {
        const call = this.calls.get(box.call)!;
        return [this.moduleName(box), joined(shown(call.type), ...contents(box, call.type))];
      }
      case "repeat": {
        const units = unitsOf(box);
        const first = units[0]!;
        const many = `×${units.length} ${first.kind === "unit" ? "" : this.nameOf(first)}`.trim();
        const what = first.kind === "unit" ? first.children.map((c) => this.nameOf(c)) : [];
        const span =
          first.kind === "module"
            ? `${this.moduleName(first)} … ${this.moduleName(units.at(-1)!)}`
            : listed(what);
        return [many, joined(span, ...contents(box))];
      }
      case "unit":
        return [listed(names(), 2), `${unitNumber(box)}`];
      case "crowd": {
        const nodes = inside.map((child) => child.node!);
        return [counted(nodes.length, nodes[0]!.kind), listed(leafNames(nodes))];
      }
      case "apart":
        return [counted(box.size, "other node"), "led to no backward"];
      default:
        return [counted(box.size, "node"), listed(names())];
    }
  }

  private nameOf(box: Box): string {
    if (box.node) return opName(box.node.name);
    return box.kind === "module"
      ? shown(this.calls.get(box.call)!.type)
      : this.of(box).lines[0]!.text;
  }

  private moduleName(box: Box): string {
    const call = this.calls.get(box.call)!;
    const outer = this.pathOf(box.parent);
    const inside = outer !== "" && call.path.startsWith(`${outer}.`);
    const own = inside ? call.path.slice(outer.length + 1) : call.path;
    const again =
      (this.times.get(`${call.root} ${call.path}`) ?? 0) > 1 ? ` (call ${call.nth})` : "";
    return shown(own || this.tree.graph.models[call.root] || call.type) + again;
  }

  private pathOf(box: Box | null): string {
    return box && box.call >= 0 ? (this.calls.get(box.call)?.path ?? "") : "";
  }
}

/** Shapes with slanted or cut sides need more room for the same text. */
function slant(box: Box): number {
  const kind = box.node?.kind;
  return kind === "input" || kind === "function" || kind === "step" || kind === "gradient" ? 14 : 0;
}

/** How much is inside; of a single op its name, unless the class says it. */
function contents(box: Box, type = ""): string[] {
  let [ops, parameters, name] = [0, 0, ""];
  const visit = (at: Box): void => {
    if (at.node?.kind === "parameter") parameters++;
    else if (at.node && !isLeaf(at.node)) {
      ops++;
      name = opName(at.node.name);
    }
    for (const child of at.children) visit(child);
  };
  visit(box);
  const alike = name.replaceAll("_", "") === type.toLowerCase();
  const said = ops === 1 ? (alike ? "" : name) : ops > 1 ? counted(ops, "op") : "";
  return [said, parameters ? counted(parameters, "parameter") : ""];
}

function unitsOf(box: Box): Box[] {
  return box.children.flatMap((child) =>
    child.kind === "run"
      ? unitsOf(child)
      : child.node && isLeaf(child.node)
        ? []
        : child.kind === "crowd"
          ? []
          : [child],
  );
}

function unitNumber(box: Box): string {
  return `${box.parent!.children.filter((child) => child.kind === "unit").indexOf(box) + 1}`;
}

function leafNames(nodes: GraphNode[]): string[] {
  return nodes.map((node) => node.name.split(".").at(-1) || node.shape);
}

function troublesOf(box: Box): Line[] {
  const { failed, modified, cuts, findings } = box.troubles;
  const said: string[] = [];
  if (failed) said.push(box.node ? "backward failed here" : "backward failed inside");
  if (box.node) {
    for (const { name, saved, now } of box.node.modified) {
      said.push(`${shown(name, 20)}: saved v${saved}, now v${now}`);
    }
    if (box.node.error && !failed) said.push(`raised ${shown(box.node.error)}`);
  } else {
    if (modified) said.push(`${counted(modified, "saved tensor")} modified`);
    for (const [cause, times] of cuts)
      said.push(`✂ ${shown(cause)}${times > 1 ? ` ×${times}` : ""}`);
  }
  if (said.length === 0 && findings.size > 0) said.push(`! ${counted(findings.size, "finding")}`);
  return said.map((text) => ({ text, role: "alarm" }));
}

function notesOf(box: Box): Line[] {
  const said: string[] = [];
  if (box.node?.root) said.push("backward starts here");
  if (box.node?.hooks) said.push(`↪ ${counted(box.node.hooks, "hook")}`);
  return said.map((text) => ({ text, role: "note" }));
}

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

/** What a box is called, and what is said of it beneath. */

import type { Call, GraphNode } from "../model/graph";
import { counted, grouped, type Noun, term } from "../model/said";
import { trans } from "../words";
import type { Box, Tree } from "./box";
import { isLeaf } from "./leaves";
import { listed, opName, shown } from "./text";

export class Names {
  readonly #calls: Map<number, Call>;
  readonly #times = new Map<string, number>();

  constructor(private readonly tree: Tree) {
    this.#calls = new Map(tree.graph.calls.map((call) => [call.id, call]));
    for (const { kind, call: id } of tree.boxes) {
      const call = kind === "module" ? this.#calls.get(id)! : null;
      if (!call) continue;
      const key = `${call.root} ${call.path}`;
      this.#times.set(key, (this.#times.get(key) ?? 0) + 1);
    }
  }

  /** Title and subtitle. */
  of(box: Box): [string, string] {
    const [title, subtitle] = box.node ? this.#ofNode(box, box.node) : this.#ofGroup(box);
    return box.computedAgain ? [`${title} ↻`, subtitle] : [title, subtitle];
  }

  /** Name and class, for the head of an open box. */
  head(box: Box): [string, string] {
    const [title, subtitle] = this.of(box);
    const call = box.kind === "module" && this.#calls.get(box.call);
    const type = call ? shown(call.type) : (subtitle.split(" · ")[0] ?? "");
    return [title, isNamed(title, type) ? "" : type];
  }

  #ofNode(box: Box, node: GraphNode): [string, string] {
    if (!isLeaf(node)) return [opName(node.name), node.shape && `→ ${shown(node.shape)}`];
    const name = shown(this.#inside(box.parent, node.name));
    const kind = term(node.kind === "parameter" && !node.tracked ? "frozen" : node.kind);
    const missing = node.gradient === "none" ? ` · ${trans.__("no gradient")}` : "";
    return name ? [name, `${kind} ${shown(node.shape)}`.trim() + missing] : [kind, node.shape];
  }

  #ofGroup(box: Box): [string, string] {
    const inside = box.children;
    switch (box.kind) {
      case "module": {
        const call = this.#calls.get(box.call)!;
        const [name, type] = [this.#moduleName(box), shown(call.type)];
        const of = isNamed(name, type) ? "" : type;
        return [name, joined(of, ...contents(box, call.type))];
      }
      case "repeat": {
        const units = unitsOf(box);
        const first = units[0]!;
        const many = `×${units.length} ${first.kind === "unit" ? "" : this.#nameOf(first)}`.trim();
        const what = first.kind === "unit" ? first.children.map((c) => this.#nameOf(c)) : [];
        const span =
          first.kind === "module"
            ? `${this.#moduleName(first)} … ${this.#moduleName(units.at(-1)!)}`
            : listed(what);
        return [many, joined(span, ...contents(box))];
      }
      case "unit":
        return [
          unitNumber(box),
          listed(
            inside.map((child) => this.#nameOf(child)),
            2,
          ),
        ];
      case "crowd": {
        const nodes = inside.map((child) => child.node!);
        return [counted(nodes.length, nodes[0]!.kind as Noun), listed(leafNames(nodes))];
      }
      case "setup":
        return [
          trans.__("initialisation"),
          `${counted(opsOf(box).length, "op")}: ${listed(opsOf(box))}`,
        ];
      case "apart":
        return [
          trans._n("%2 other node", "%2 other nodes", box.size, grouped(box.size)),
          trans.__("not used by a backward"),
        ];
      default:
        return [counted(box.size, "node"), listed(opsOf(box))];
    }
  }

  #nameOf(box: Box): string {
    if (box.node) return opName(box.node.name);
    return box.kind === "module" ? shown(this.#calls.get(box.call)!.type) : this.of(box)[0];
  }

  #moduleName(box: Box): string {
    const call = this.#calls.get(box.call)!;
    const path = this.#relative(call, box.parent);
    const name = shown(path || call.type);
    const again = (this.#times.get(`${call.root} ${call.path}`) ?? 0) > 1;
    return again ? trans.__("%1 (call %2)", name, call.nth) : name;
  }

  /** `norm` in the box of its model, `net.norm` where no module is around it. */
  #relative(call: Call, around: Box | null): string {
    const outer = this.#pathOf(around);
    if (outer !== "" && call.path.startsWith(`${outer}.`)) return call.path.slice(outer.length + 1);
    const same = around && this.#calls.get(around.call)?.root === call.root;
    if (same && call.path) return call.path;
    return [this.tree.graph.models[call.root], call.path].filter(Boolean).join(".");
  }

  /** What a tensor is called in the box of a module: `weight` for `net.0.weight` in `0` of `net`. */
  #inside(box: Box | null, name: string): string {
    const call = box && this.#calls.get(box.call);
    if (!call) return name;
    const model = this.tree.graph.models[call.root] ?? "";
    const owners = [[model, call.path].filter(Boolean).join("."), call.path];
    const owner = owners.find((owner) => owner !== "" && name.startsWith(`${owner}.`));
    return owner === undefined ? name : name.slice(owner.length + 1);
  }

  #pathOf(box: Box | null): string {
    return box && box.call >= 0 ? (this.#calls.get(box.call)?.path ?? "") : "";
  }
}

/** A module without a name is called after its class: that need not be said twice. */
function isNamed(title: string, type: string): boolean {
  return title === type || title.startsWith(`${type} (`);
}

/** Names of the ops inside, in program order. */
function opsOf(box: Box): string[] {
  if (box.node) return isLeaf(box.node) ? [] : [box.node.name];
  return box.children.flatMap(opsOf);
}

/** How much is inside; of a single op its name, unless the class says it. */
function contents(box: Box, type = ""): string[] {
  let [ops, parameters, name] = [0, 0, ""];
  const visit = (at: Box): void => {
    if (at.node?.kind === "parameter") parameters++;
    else if (at.node && !isLeaf(at.node)) {
      ops++;
      name = at.node.name;
    }
    for (const child of at.children) visit(child);
  };
  visit(box);
  if (ops > 1) return [counted(ops, "op"), parameters ? counted(parameters, "parameter") : ""];
  name = opName(name);
  const operation = name.replaceAll("_", "") === type.toLowerCase() ? "" : name;
  return [operation, parameters ? counted(parameters, "parameter") : ""];
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

/** Where it stands among the rounds of its repetition: `2 of 3`. */
function unitNumber(box: Box): string {
  let around = box.parent!;
  while (around.kind === "run") around = around.parent!;
  const units = unitsOf(around);
  return trans.__("%1 of %2", units.indexOf(box) + 1, units.length);
}

function leafNames(nodes: GraphNode[]): string[] {
  return nodes.map((node) => node.name.split(".").at(-1) || node.shape);
}

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

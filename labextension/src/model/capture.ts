/** One capture with its tables joined: names, places and neighbours of what the tables number. */

import { TENSOR_FLAGS } from "../wire";
import { trans } from "../words";
import type { Data, Ints } from "./decode";

export interface Frame {
  place: string;
  cell: string;
  filename: string;
  line: number;
  function: string;
  source: string;
  library: boolean;
}

export interface TensorFacts {
  id: number;
  kind: string;
  name: string;
  shape: string;
  dtype: string;
  device: string;
  nbytes: number;
  requiresGrad: boolean;
  leaf: boolean;
  inference: boolean;
  /** The op that made it, -1 for none. */
  birth: number;
}

export interface SavedFacts {
  name: string;
  tensor: number;
  shape: string;
  dtype: string;
  device: string;
  nbytes: number;
  status: string;
  saved: number;
  now: number;
  unused: boolean;
}

export interface OpWrite {
  tensor: number;
  before: number;
  after: number;
}

/** Row n owns the rows from starts[n] to starts[n + 1] of another table. */
export function starts(counts: Ints): number[] {
  const sums = [0];
  for (let n = 0; n < counts.length; n++) sums.push(sums[n]! + counts[n]!);
  return sums;
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
}

export class Capture {
  readonly #savedStarts: number[];
  readonly #gradFnStarts: number[];
  readonly #inputStarts: number[];
  readonly #outputStarts: number[];
  readonly #writeStarts: number[];
  readonly #chainStarts: number[];
  /** Index of the text "modified"; of no text where nothing was. */
  readonly #modified: number;
  /** Parameter -> the leaf that shows it. */
  readonly leafOf = new Map<number, number>();

  constructor(readonly data: Data) {
    this.#savedStarts = starts(data.nodes.saved);
    this.#gradFnStarts = starts(data.nodes.grad_fns);
    this.#inputStarts = starts(data.ops.inputs);
    this.#outputStarts = starts(data.ops.outputs);
    this.#writeStarts = starts(data.ops.writes);
    this.#chainStarts = starts(data.sites.chain);
    this.#modified = data.strings.indexOf("modified");
    const leaves = ["parameter", "buffer", "input", "gradient"].map((k) => data.strings.indexOf(k));
    for (let n = 0; n < this.size; n++) {
      const kind = data.nodes.kind[n]!;
      if (kind >= 0 && leaves.includes(kind)) this.leafOf.set(data.nodes.tensor[n]!, n);
    }
  }

  get size(): number {
    return this.data.nodes.kind.length;
  }

  text(index: number | undefined): string {
    return this.data.strings[index ?? -1] ?? "";
  }

  tensor(id: number): TensorFacts {
    const { tensors: t } = this.data;
    const flags = t.flags[id] ?? 0;
    return {
      id,
      kind: this.text(t.kind[id]),
      name: this.text(t.name[id]),
      shape: this.text(t.shape[id]),
      dtype: this.text(t.dtype[id]),
      device: this.text(t.device[id]),
      nbytes: t.nbytes[id] ?? 0,
      requiresGrad: (flags & TENSOR_FLAGS.requires_grad) > 0,
      leaf: (flags & TENSOR_FLAGS.leaf) > 0,
      birth: t.birth[id] ?? -1,
      inference: (flags & TENSOR_FLAGS.inference) > 0,
    };
  }

  saved(node: number): SavedFacts[] {
    const { saved: s } = this.data;
    return range(this.#savedStarts[node]!, this.#savedStarts[node + 1]!).map((row) => ({
      name: this.text(s.name[row]),
      tensor: s.tensor[row]!,
      shape: this.text(s.shape[row]),
      dtype: this.text(s.dtype[row]),
      device: this.text(s.device[row]),
      nbytes: s.nbytes[row]!,
      status: this.text(s.status[row]),
      saved: s.saved_version[row]!,
      now: s.current_version[row]!,
      unused: s.unused[row] === 1,
    }));
  }

  /** What is known of a node's values. */
  remarks(node: number): { text: string; alarming: boolean }[] {
    const { remarks } = this.data;
    return range(0, remarks.node.length)
      .filter((row) => remarks.node[row] === node)
      .map((row) => ({
        text: this.text(remarks.text[row]),
        alarming: remarks.alarming[row] === 1,
      }));
  }

  /** Bytes that each node saved for backward. */
  savedBytes(): Float64Array {
    const bytes = new Float64Array(this.size);
    for (let node = 0; node < this.size; node++) {
      for (let row = this.#savedStarts[node]!; row < this.#savedStarts[node + 1]!; row++)
        bytes[node]! += this.data.saved.nbytes[row]!;
    }
    return bytes;
  }

  /** Of each node the squared norm of its gradient, which add up; null where no values were read. */
  squaredNorms(): Float64Array | null {
    const { norms } = this.data;
    if (!norms) return null;
    const squares = new Float64Array(this.size);
    norms.node.forEach((node, row) => {
      squares[node] = norms.norm[row]! ** 2;
    });
    return squares;
  }

  /** Something modified one of its saved tensors. */
  spoiled(node: number): boolean {
    const { status } = this.data.saved;
    for (let row = this.#savedStarts[node]!; row < this.#savedStarts[node + 1]!; row++) {
      if (status[row] === this.#modified) return true;
    }
    return false;
  }

  gradFns(node: number): string[] {
    const names: string[] = [];
    for (let row = this.#gradFnStarts[node]!; row < this.#gradFnStarts[node + 1]!; row++) {
      names.push(this.text(this.data.grad_fns.name[row]));
    }
    return names;
  }

  inputs(op: number): { tensor: number; version: number }[] {
    const { tensor, version } = this.data.inputs;
    return range(this.#inputStarts[op]!, this.#inputStarts[op + 1]!).map((row) => ({
      tensor: tensor[row]!,
      version: version[row]!,
    }));
  }

  outputs(op: number): { tensor: number; version: number }[] {
    const { tensor, version } = this.data.outputs;
    return range(this.#outputStarts[op]!, this.#outputStarts[op + 1]!).map((row) => ({
      tensor: tensor[row]!,
      version: version[row]!,
    }));
  }

  writes(op: number): OpWrite[] {
    const { tensor, before, after } = this.data.writes;
    return range(this.#writeStarts[op]!, this.#writeStarts[op + 1]!).map((row) => ({
      tensor: tensor[row]!,
      before: before[row]!,
      after: after[row]!,
    }));
  }

  /** The call chain of a site, the user's own line first. */
  frames(site: number): Frame[] {
    if (site < 0 || site >= this.data.sites.user.length) return [];
    const chain = range(this.#chainStarts[site]!, this.#chainStarts[site + 1]!).map(
      (row) => this.data.chain.frame[row]!,
    );
    const user = this.data.sites.user[site]!;
    return [user, ...chain.filter((frame) => frame !== user)]
      .filter((frame) => frame >= 0)
      .map((frame) => this.#frame(frame));
  }

  place(site: number): Frame | undefined {
    const user = this.data.sites.user[site] ?? -1;
    return user < 0 ? undefined : this.#frame(user);
  }

  /** Module of a call as everything else names it: `net.0`. */
  path(call: number): string {
    const { calls, head } = this.data;
    if (call < 0) return "";
    const path = this.text(calls.path[call]);
    const root = calls.root[call]!;
    if (root < 0) return path;
    return [head.models[root] ?? "", path].filter(Boolean).join(".");
  }

  #frame(row: number): Frame {
    const { frames: f } = this.data;
    const filename = this.text(f.filename[row]);
    const cell = this.text(f.cell[row]);
    const line = f.lineno[row] ?? 0;
    return {
      // Of most frames nobody asks it.
      get place() {
        if (cell) return trans.__("%1, line %2", cell, line);
        return `${filename.replaceAll("\\", "/").split("/").pop() ?? ""}:${line}`;
      },
      cell,
      filename,
      line,
      function: this.text(f.function[row]),
      source: this.text(f.source[row]),
      library: f.library[row] === 1,
    };
  }
}

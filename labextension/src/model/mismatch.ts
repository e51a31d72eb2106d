/** The placement as rows, each with what is not where or as it should be. */

import { term } from "../model/said";
import { trans } from "../words";
import { type Capture, range, starts } from "./capture";

export interface Entry {
  name: string;
  shape: string;
  dtype: string;
  device: string;
  nbytes: number;
}

export interface Row {
  index: number;
  tensor: number;
  name: string;
  module: string;
  shape: string;
  dtype: string;
  device: string;
  nbytes: number;
  requiresGrad: boolean;
  reached: boolean;
  standing: string;
  optimizer: string;
  gradient: Entry | null;
  state: Entry[];
  total: number;
  /** What stands out, in words. */
  problems: string[];
}

export function placementRows(capture: Capture): Row[] {
  const { parameters: p, state: s, optimizers } = capture.data;
  const begin = starts(p.state);
  const modules = folds(Array.from(p.name, (name) => capture.text(name)));
  return range(0, p.name.length).map((n) => {
    const entry = (row: number): Entry => ({
      name: capture.text(s.name[row]),
      shape: capture.text(s.shape[row]),
      dtype: capture.text(s.dtype[row]),
      device: capture.text(s.device[row]),
      nbytes: s.nbytes[row]!,
    });
    const state = range(begin[n]!, begin[n + 1]!).map(entry);
    const gradient =
      p.grad_shape[n]! < 0
        ? null
        : {
            name: trans.__("gradient"),
            shape: capture.text(p.grad_shape[n]),
            dtype: capture.text(p.grad_dtype[n]),
            device: capture.text(p.grad_device[n]),
            nbytes: p.grad_nbytes[n]!,
          };
    const optimizer = optimizers[p.optimizer[n]!];
    const name = capture.text(p.name[n]);
    const group = optimizer && (optimizer.groups?.length ?? 0) > 1 ? `[${p.group[n]}]` : "";
    const row: Row = {
      index: n,
      tensor: p.tensor[n]!,
      name,
      module: modules[n]!,
      shape: capture.text(p.shape[n]),
      dtype: capture.text(p.dtype[n]),
      device: capture.text(p.device[n]),
      nbytes: p.nbytes[n]!,
      requiresGrad: p.requires_grad[n] === 1,
      reached: p.reached[n] === 1,
      standing: capture.text(p.standing[n]),
      optimizer: optimizer ? optimizer.type + group : "",
      gradient,
      state,
      total: p.nbytes[n]! + (gradient?.nbytes ?? 0) + state.reduce((sum, e) => sum + e.nbytes, 0),
      problems: [],
    };
    row.problems = problems(row);
    return row;
  });
}

/** The module that each parameter folds into: its own, or the one around it where that has no other (`mlp.up.weight`). */
export function folds(names: string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) {
    for (let at = name.lastIndexOf("."); at > 0; at = name.lastIndexOf(".", at - 1)) {
      counts.set(name.slice(0, at), (counts.get(name.slice(0, at)) ?? 0) + 1);
    }
  }
  return names.map((name) => {
    const own = name.slice(0, Math.max(name.lastIndexOf("."), 0));
    for (let at = own.length; at > 0; at = own.lastIndexOf(".", at - 1)) {
      const around = own.slice(0, at);
      // A whole model is no fold: it would take what its modules have left over.
      if (counts.get(around)! > 1 && (at === own.length || around.includes("."))) return around;
    }
    return own;
  });
}

/** A step counter may live on the CPU, and its state may be of higher precision. */
function problems(row: Row): string[] {
  const holders = new Map<string, string[]>();
  const say = (what: string, held: Entry) =>
    holders.set(what, [...(holders.get(what) ?? []), held.name]);
  for (const held of row.gradient ? [row.gradient, ...row.state] : row.state) {
    if (held.shape === "scalar" && row.shape !== "scalar") {
      if (held.device === "meta") say(trans.__("on %1", held.device), held);
      continue;
    }
    if (held.device !== row.device) say(trans.__("on %1", held.device), held);
    if (held.dtype !== row.dtype) say(held.dtype, held);
    if (held.shape !== row.shape && sameRank(held, row)) say(held.shape, held);
  }
  const texts = [...holders].map(([what, names]) => `${what}: ${names.join(", ")}`);
  const stands = row.standing === "orphan" || (row.standing === "no state" && row.gradient);
  return stands ? [...texts, term(row.standing)] : texts;
}

/** A factored state has fewer dimensions than its parameter, on purpose. */
function sameRank(held: Entry, row: Row): boolean {
  return held.shape.split("×").length === row.shape.split("×").length;
}

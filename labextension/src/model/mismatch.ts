/** The placement as rows, each with what is not where or as it should be. */

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
            name: "gradient",
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
      module: name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : "",
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

/** A step counter may live on the CPU, and its state may be of higher precision. */
function problems(row: Row): string[] {
  const holders = new Map<string, string[]>();
  const say = (what: string, held: Entry) =>
    holders.set(what, [...(holders.get(what) ?? []), held.name]);
  for (const held of row.gradient ? [row.gradient, ...row.state] : row.state) {
    if (held.shape === "scalar" && row.shape !== "scalar") {
      if (held.device === "meta") say("on meta", held);
      continue;
    }
    if (held.device !== row.device) say(`on ${held.device}`, held);
    if (held.dtype !== row.dtype) say(held.dtype, held);
    if (held.shape !== row.shape && sameRank(held, row)) say(held.shape, held);
  }
  const texts = [...holders].map(([what, names]) => `${what}: ${names.join(", ")}`);
  const stands = row.standing === "orphan" || (row.standing === "no state" && row.gradient);
  return stands ? [...texts, row.standing] : texts;
}

/** A factored state has fewer dimensions than its parameter, on purpose. */
function sameRank(held: Entry, row: Row): boolean {
  return held.shape.split("×").length === row.shape.split("×").length;
}

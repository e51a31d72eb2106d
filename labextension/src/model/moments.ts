/** The program as a sequence of moments: ops in order, and between them what happened beside them. */

import { trans } from "../words";
import type { Capture } from "./capture";
import { opName } from "./shown";

export interface Moment {
  /** The op, -1 for an event. */
  op: number;
  /** How many ops had run before it. */
  at: number;
  kind: "op" | "mode" | "backward" | "step" | "change";
  title: string;
  said: string;
  site: number;
  node: number;
  alarming: boolean;
}

export function momentsOf(capture: Capture): Moment[] {
  const { ops, events, regions } = capture.data;
  const moments: Moment[] = [];
  let next = 0;
  const tell = (until: number) => {
    for (; next < events.at.length && events.at[next]! <= until; next++) {
      moments.push({
        op: -1,
        at: events.at[next]!,
        kind: capture.text(events.kind[next]) as Moment["kind"],
        title: capture.text(events.api[next]),
        said: capture.text(events.said[next]),
        site: events.site[next]!,
        node: -1,
        alarming: events.alarming[next] === 1,
      });
    }
  };
  for (let op = 0; op < ops.name.length; op++) {
    tell(op);
    const writes = capture.writes(op);
    const bumps = writes.map(({ tensor, before, after }) => {
      const { name: tensorName, shape } = capture.tensor(tensor);
      const name = tensorName || trans.__("a tensor %1", shape);
      return before === after
        ? trans.__("writes %1, unseen", name)
        : `${name} v${before} → v${after}`;
    });
    const title = opName(capture.text(ops.name[op]));
    const error = capture.text(ops.error[op]);
    const off = capture.text(regions.kind[ops.region[op]!]);
    const details = [
      path(capture, op),
      ...bumps.slice(0, 3),
      error && (error === "raised" ? trans.__("raised") : trans.__("raised %1", error)),
    ];
    if (bumps.length > 3)
      details.push(trans._n("and %1 more write", "and %1 more writes", bumps.length - 3));
    if (off === "inference_mode" || off === "no_grad") details.push(off);
    // A step is an op that the optimizer's event tells more about.
    const step = moments.at(-1);
    const stepped = step?.kind === "step" && step.at === op && step.title === `${title}()`;
    if (stepped) details.unshift(moments.pop()!.said);
    moments.push({
      op,
      at: op,
      kind: stepped ? "step" : "op",
      title,
      said: details.filter(Boolean).join(" · "),
      site: ops.site[op]!,
      node: ops.node[op]!,
      alarming: !!error,
    });
  }
  tell(Number.POSITIVE_INFINITY);
  return moments;
}

function path(capture: Capture, op: number): string {
  return capture.path(capture.data.ops.call[op]!);
}

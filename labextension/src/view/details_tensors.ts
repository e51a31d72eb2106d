/** The tensors of a node: read, returned, saved for backward, modified in place. */

import type { SavedFacts } from "../model/capture";
import { opName, size, version } from "../model/shown";
import type { Context } from "./context";
import { link } from "./details_links";
import { dotted, el } from "./dom";

export function tensors(
  context: Context,
  of: { tensor: number; version: number }[],
): HTMLElement[] {
  return of.map(({ tensor, version: at }) => tensorRow(context, tensor, version(at)));
}

function tensorRow(context: Context, id: number, at: string): HTMLElement {
  const tensor = context.capture.tensor(id);
  const leaf = context.capture.leafOf.get(id);
  const maker = tensor.birth >= 0 ? (context.capture.data.ops.node[tensor.birth] ?? -1) : -1;
  const byNode = maker === context.selection.ids[0];
  const node = leaf ?? (byNode ? -1 : maker);
  const made = byNode
    ? "result"
    : maker >= 0
      ? `result of ${opName(context.graph.nodes[maker]!.name)}`
      : tensor.kind;
  const name = tensor.name || made;
  const facts = [tensor.shape, tensor.dtype, tensor.device, size(tensor.nbytes), at];
  return el(
    "li",
    {},
    node < 0 ? el("b", {}, dotted(name)) : link(context, node, name),
    el("span", { class: "agi-quiet" }, ` ${facts.filter(Boolean).join(" · ")}`),
    tensor.requiresGrad && el("span", { class: "agi-tag" }, "requires grad"),
    tensor.inference && el("span", { class: "agi-tag" }, "inference"),
  );
}

export function savedRow(saved: SavedFacts): HTMLElement {
  const alarming = saved.status === "modified";
  const versions =
    saved.saved < 0
      ? ""
      : alarming
        ? `saved ${version(saved.saved)}, now ${version(saved.now)}`
        : version(saved.saved);
  const facts = [saved.shape, saved.dtype, saved.device, size(saved.nbytes), versions];
  return el(
    "li",
    { class: alarming ? "agi-alarm" : undefined },
    el("b", {}, saved.name),
    el("span", { class: "agi-quiet" }, ` ${facts.filter(Boolean).join(" · ")}`),
    el("span", { class: "agi-tag" }, saved.status),
    saved.unused && el("span", { class: "agi-tag" }, "not read by this backward"),
  );
}

export function writes(context: Context, op: number): HTMLElement[] {
  if (op < 0) return [];
  return context.capture.writes(op).map(({ tensor, before, after }) => {
    const moved = before === after ? "no version counter moved" : `v${before} → v${after}`;
    return el(
      "li",
      {},
      el("b", {}, context.capture.tensor(tensor).name || "a tensor"),
      ` ${moved}`,
    );
  });
}

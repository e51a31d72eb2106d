/** The tensors of a node: read, returned, saved for backward, modified in place. */

import type { SavedFacts } from "../model/capture";
import { term } from "../model/said";
import { opName, size, version } from "../model/shown";
import { trans } from "../words";
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
    ? trans.__("result")
    : maker >= 0
      ? trans.__("result of %1", opName(context.graph.nodes[maker]!.name))
      : term(tensor.kind);
  const name = tensor.name || made;
  const facts = [tensor.shape, tensor.dtype, tensor.device, size(tensor.nbytes), at];
  return el(
    "li",
    {},
    node < 0 ? el("b", {}, dotted(name)) : link(context, node, name),
    el("span", { class: "agi-quiet" }, ` ${facts.filter(Boolean).join(" · ")}`),
    tensor.requiresGrad && el("span", { class: "agi-tag" }, trans.__("requires grad")),
    tensor.inference && el("span", { class: "agi-tag" }, trans.__("inference")),
  );
}

export function savedRow(saved: SavedFacts): HTMLElement {
  const alarming = saved.status === "modified";
  const versions =
    saved.saved < 0
      ? ""
      : alarming
        ? trans.__("saved %1, now %2", version(saved.saved), version(saved.now))
        : version(saved.saved);
  const facts = [saved.shape, saved.dtype, saved.device, size(saved.nbytes), versions];
  return el(
    "li",
    { class: alarming ? "agi-alarm" : undefined },
    el("b", {}, saved.name),
    el("span", { class: "agi-quiet" }, ` ${facts.filter(Boolean).join(" · ")}`),
    el("span", { class: "agi-tag" }, term(saved.status)),
    saved.unused && el("span", { class: "agi-tag" }, trans.__("not read by this backward")),
  );
}

export function writes(context: Context, op: number): HTMLElement[] {
  if (op < 0) return [];
  return context.capture.writes(op).map(({ tensor, before, after }) => {
    const moved =
      before === after ? trans.__("no version counter moved") : `v${before} → v${after}`;
    return el(
      "li",
      {},
      el("b", {}, context.capture.tensor(tensor).name || trans.__("a tensor")),
      ` ${moved}`,
    );
  });
}

/** Everything about the selected node, and its neighbours as links. */

import type { Frame, SavedFacts } from "../model/capture";
import { counted, opName, size, version } from "../model/shown";
import { type Context, label } from "./context";
import { button, dotted, el, fill, source } from "./dom";

const KINDS: Record<string, string> = {
  op: "op",
  function: "custom autograd.Function",
  step: "optimizer step",
  autograd: "autograd node",
  parameter: "parameter",
  buffer: "buffer",
  input: "input",
  gradient: "gradient",
};
const MANY = 12;

export function details(context: Context): HTMLElement {
  const host = el("section", { class: "ag-details", "aria-label": "Details", tabindex: "0" });
  const show = (ids: readonly number[]) => {
    if (ids.length === 1) fill(host, ...about(context, ids[0]!));
    else if (ids.length > 1) fill(host, ...several(context, ids));
    else fill(host, el("h3", {}, "Details"), el("p", { class: "ag-empty" }, "Select a node."));
  };
  context.selection.listen(show);
  show(context.selection.ids);
  return host;
}

function several(context: Context, ids: readonly number[]): HTMLElement[] {
  return [
    el("h3", {}, counted(ids.length, "node")),
    el("ul", { class: "ag-links" }, ...links(context, ids, 50)),
  ];
}

function about(context: Context, id: number): (HTMLElement | null)[] {
  const { capture } = context;
  const node = context.graph.nodes[id];
  if (!node) return [el("p", { class: "ag-empty" }, "There is no such node.")];
  const call = context.graph.calls[node.call];
  const marks = [
    node.root && "backward starts here",
    node.failed && "backward failed here",
    node.recomputed && "ran during backward",
    node.region && `under ${node.region}`,
    node.hooks > 0 && counted(node.hooks, "hook"),
    node.gradient === "present" && "has a gradient",
    node.gradient === "none" && "no gradient",
    !node.tracked && "gradient does not pass",
  ].filter((mark): mark is string => !!mark);
  const remarks = capture.data.remarks;
  const values = Array.from(remarks.node)
    .map((owner, n) => (owner === id ? capture.text(remarks.text[n]) : ""))
    .filter(Boolean);
  return [
    el("p", { class: "ag-kind" }, KINDS[node.kind] ?? node.kind),
    el("h3", {}, dotted(opName(node.name))),
    node.path || call
      ? facts([
          ["module", node.path || "(root)"],
          ["class", call ? call.type + (call.nth > 1 ? `, call ${call.nth}` : "") : ""],
        ])
      : null,
    node.gradFns.length ? facts([["grad_fn", node.gradFns.join(", ")]]) : null,
    marks.length
      ? el(
          "p",
          { class: "ag-marks" },
          ...marks.map((text) => el("span", { class: "ag-mark" }, text)),
        )
      : null,
    node.error
      ? el("p", { class: "ag-raised" }, node.error === "raised" ? "raised" : `raised ${node.error}`)
      : null,
    ...values.map((text) => el("p", { class: "ag-raised" }, text)),
    ...node.findings.map((n) => finding(context, n)),
    lines(capture.frames(node.site)),
    node.op >= 0 ? section("Inputs", inputs(context, node.op)) : null,
    node.op >= 0
      ? section(
          "Outputs",
          capture.outputs(node.op).map((tensor) => tensorRow(context, tensor, "")),
        )
      : null,
    node.op < 0 && node.tensor >= 0
      ? section("Tensor", [tensorRow(context, node.tensor, "")])
      : null,
    section("Saved for backward", capture.saved(id).map(savedRow)),
    section("Modified in place", writes(context, node.op)),
    neighbours(context, id, "source"),
    neighbours(context, id, "target"),
  ];
}

function facts(pairs: [string, string][]): HTMLElement {
  const shown = pairs.filter(([, value]) => value);
  return el(
    "dl",
    { class: "ag-facts" },
    ...shown.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, dotted(value))]),
  );
}

function section(title: string, rows: HTMLElement[]): HTMLElement | null {
  if (!rows.length) return null;
  return el(
    "div",
    { class: "ag-section" },
    el("h4", {}, title),
    el("ul", { class: "ag-rows" }, ...rows.slice(0, 40)),
    rows.length > 40 && el("p", { class: "ag-quiet" }, `and ${rows.length - 40} more`),
  );
}

function finding(context: Context, index: number): HTMLElement {
  const { rule, name, severity } = context.capture.data.findings[index]!;
  return button(`${rule} ${name}`, () => context.show("Findings"), {
    class: `ag-chip ag-${severity}`,
  });
}

function lines(frames: Frame[]): HTMLElement | null {
  if (!frames.length) return null;
  const rows = frames
    .slice(0, 6)
    .map((frame, n) =>
      el(
        "li",
        { class: n === 0 ? "ag-line ag-first" : "ag-line" },
        el("span", { class: "ag-place", title: frame.filename }, frame.place),
        frame.function && frame.function !== "<module>"
          ? el("span", { class: "ag-quiet" }, ` in ${frame.function}`)
          : null,
        frame.source ? source(frame.source) : null,
      ),
    );
  return el(
    "div",
    { class: "ag-section" },
    el("h4", {}, "Source"),
    el("ol", { class: "ag-lines" }, ...rows),
  );
}

function inputs(context: Context, op: number): HTMLElement[] {
  return context.capture
    .inputs(op)
    .map(({ tensor, version: at }) => tensorRow(context, tensor, version(at)));
}

function tensorRow(context: Context, id: number, at: string): HTMLElement {
  const tensor = context.capture.tensor(id);
  const leaf = context.capture.leafOf.get(id);
  const maker = tensor.birth >= 0 ? (context.capture.data.ops.node[tensor.birth] ?? -1) : -1;
  const node = leaf ?? (maker === context.selection.ids[0] ? -1 : maker);
  const made = maker >= 0 ? `result of ${opName(context.graph.nodes[maker]!.name)}` : tensor.kind;
  const name = tensor.name || made;
  const said = [tensor.shape, tensor.dtype, tensor.device, size(tensor.nbytes), at];
  return el(
    "li",
    {},
    node < 0 ? el("b", {}, dotted(name)) : link(context, node, name),
    el("span", { class: "ag-quiet" }, ` ${said.filter(Boolean).join(" · ")}`),
    tensor.requiresGrad && el("span", { class: "ag-tag" }, "requires grad"),
    tensor.inference && el("span", { class: "ag-tag" }, "inference"),
  );
}

function savedRow(saved: SavedFacts): HTMLElement {
  const alarming = saved.status === "modified";
  const versions =
    saved.saved < 0
      ? ""
      : alarming
        ? `saved ${version(saved.saved)}, now ${version(saved.now)}`
        : version(saved.saved);
  const said = [saved.shape, saved.dtype, saved.device, size(saved.nbytes), versions];
  return el(
    "li",
    { class: alarming ? "ag-alarm" : undefined },
    el("b", {}, saved.name),
    el("span", { class: "ag-quiet" }, ` ${said.filter(Boolean).join(" · ")}`),
    saved.status !== "valid" && el("span", { class: "ag-tag" }, saved.status),
    saved.unused && el("span", { class: "ag-tag" }, "not read by this backward"),
  );
}

function writes(context: Context, op: number): HTMLElement[] {
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

function neighbours(context: Context, id: number, side: "source" | "target"): HTMLElement | null {
  const other = side === "source" ? "target" : "source";
  const edges = context.graph.edges.filter((edge) => edge[other] === id);
  if (!edges.length) return null;
  const rows = edges.slice(0, MANY).map((edge) => {
    const cut =
      edge.kind === "severed" ? `✂ ${edge.cause}` : edge.kind === "data" ? "no gradient" : "";
    return el(
      "li",
      { class: edge.kind === "severed" ? "ag-alarm" : undefined },
      link(context, edge[side], label(context, edge[side])),
      cut && el("span", { class: "ag-tag" }, cut),
    );
  });
  return el(
    "div",
    { class: "ag-section" },
    el("h4", {}, side === "source" ? "Comes from" : "Goes to"),
    el("ul", { class: "ag-links" }, ...rows),
    edges.length > MANY && el("p", { class: "ag-quiet" }, `and ${edges.length - MANY} more`),
  );
}

function links(context: Context, ids: readonly number[], most: number): HTMLElement[] {
  return ids.slice(0, most).map((id) => el("li", {}, link(context, id, label(context, id))));
}

function link(context: Context, id: number, text: string): HTMLButtonElement {
  return button(dotted(text), () => context.selection.set([id], "details", true), {
    class: "ag-link",
  });
}

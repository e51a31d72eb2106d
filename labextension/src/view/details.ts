/** Everything about what is selected: a finding, or a node with its neighbours as links. */

import { treeOf } from "../layout";
import { nodesOf } from "../layout/box";
import type { Frame, TensorFacts } from "../model/capture";
import { originOf } from "../model/gradients";
import { andMore, counted, term } from "../model/said";
import { severityOf } from "../model/severity";
import { opName, size, startsBackward } from "../model/shown";
import { trans } from "../words";
import type { Context } from "./context";
import { link, links, neighbours } from "./details_links";
import { savedRow, tensors, writes } from "./details_tensors";
import { around, button, dotted, el, fill, HOLE, source } from "./dom";
import { findingDetails } from "./finding_details";
import { losses } from "./gradient_origin";
import { placed } from "./place";

/** The finding that is read, until a node is chosen. */
export function details(context: Context): HTMLElement {
  const host = el("section", { "aria-label": trans.__("Details"), tabindex: "0" });
  const show = () => {
    const { ids, finding } = context.selection;
    const read = finding ?? (ids.length === 0 ? context.finding : null);
    const severity = read === null ? "" : context.capture.data.findings[read]!.severity;
    host.className = severity ? `agi-details agi-tone agi-${severityOf(severity)}` : "agi-details";
    if (read !== null) fill(host, ...findingDetails(context, read));
    else if (ids.length === 1) fill(host, ...about(context, ids[0]!));
    else if (ids.length > 1) fill(host, ...several(context, ids));
    else fill(host);
    // Until there is something to tell, the picture has all the room.
    host.hidden = read === null && ids.length === 0;
  };
  context.selection.listen(show);
  show();
  return host;
}

function several(context: Context, ids: readonly number[]): HTMLElement[] {
  return [
    el("h3", {}, counted(ids.length, "node")),
    el("ul", { class: "agi-links" }, ...links(context, ids, 50)),
  ];
}

function about(context: Context, id: number): (HTMLElement | null)[] {
  const { capture } = context;
  const node = context.graph.nodes[id];
  if (!node) return [el("p", { class: "agi-empty" }, trans.__("There is no such node."))];
  const call = context.graph.calls[node.call];
  const marks = [
    startsBackward(node) && trans.__("backward starts here"),
    node.failed && trans.__("backward failed here"),
    node.recomputed && trans.__("ran during backward"),
    node.region && trans.__("under %1", node.region),
    node.hooks > 0 && counted(node.hooks, "hook"),
    node.gradient === "present" && trans.__("has a gradient"),
    node.gradient === "none" && trans.__("no gradient"),
    !node.tracked && trans.__("gradient does not pass"),
  ].filter((mark): mark is string => !!mark);
  const values = capture.remarks(id);
  return [
    el("p", { class: "agi-kind" }, term(node.kind)),
    el("h3", {}, dotted(opName(node.name))),
    node.path || call
      ? facts([
          [trans.__("module"), node.path || trans.__("(root)")],
          [
            trans.__("class"),
            call && call.nth > 1
              ? trans.__("%1, call %2", call.type, call.nth)
              : (call?.type ?? ""),
          ],
        ])
      : null,
    node.op < 0 && node.tensor >= 0 ? held(capture.tensor(node.tensor)) : null,
    node.gradFns.length ? facts([["grad_fn", node.gradFns.join(", ")]]) : null,
    marks.length
      ? el(
          "p",
          { class: "agi-marks" },
          ...marks.map((text) => el("span", { class: "agi-mark" }, text)),
        )
      : null,
    node.error ? el("p", { class: "agi-raised" }, trans.__("raised %1", node.error)) : null,
    ...values.map(({ text, alarming }) =>
      el("p", { class: alarming ? "agi-raised" : "agi-remark" }, text),
    ),
    ...node.findings.map((n) => finding(context, n)),
    lines(context, capture.frames(node.site)),
    node.op >= 0 ? section(trans.__("Inputs"), tensors(context, capture.inputs(node.op))) : null,
    node.op >= 0 ? section(trans.__("Outputs"), tensors(context, capture.outputs(node.op))) : null,
    gradientFrom(context, node.tensor),
    section(trans.__("Computed again during backward"), computedAgain(context, id)),
    section(trans.__("Saved for backward"), capture.saved(id).map(savedRow)),
    section(trans.__("Modified in place"), writes(context, node.op)),
    neighbours(context, id, "source"),
    neighbours(context, id, "target"),
  ];
}

function facts(pairs: [string, string][]): HTMLElement {
  const shown = pairs.filter(([, value]) => value);
  return el(
    "dl",
    { class: "agi-facts" },
    ...shown.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, dotted(value))]),
  );
}

/** Of an op inside a checkpoint: the ops that computed the same once more. */
function computedAgain(context: Context, id: number): HTMLElement[] {
  const [box] = treeOf(context.graph).boxesOf.get(id);
  const others = box ? nodesOf(box).filter((node) => node.id !== id) : [];
  return others.map((node) => {
    const said = node.recomputed ? trans.__("again as %1", HOLE) : trans.__("first as %1", HOLE);
    const op = link(context, node.id, trans.__("op %1", node.op + 1));
    return el("li", {}, ...around(said, op));
  });
}

/** What a parameter or an input is. */
function held(tensor: TensorFacts): HTMLElement {
  return facts([
    [trans.__("shape"), tensor.shape],
    [trans.__("dtype"), tensor.dtype],
    [trans.__("device"), tensor.device],
    [trans.__("bytes"), size(tensor.nbytes)],
    [trans.__("requires grad"), tensor.requiresGrad ? trans.__("yes") : trans.__("no")],
  ]);
}

/** Of a parameter: the losses whose gradients its last step used. */
function gradientFrom(context: Context, tensor: number): HTMLElement | null {
  const origin = tensor >= 0 ? originOf(context.capture, tensor) : undefined;
  if (!origin) return null;
  const remark = origin.remark ? [el("li", { class: "agi-quiet" }, origin.remark)] : [];
  return section(trans.__("Gradient from"), [...losses(context, origin), ...remark]);
}

function section(title: string, rows: HTMLElement[]): HTMLElement | null {
  if (!rows.length) return null;
  return el(
    "div",
    { class: "agi-section" },
    el("h4", {}, title),
    el("ul", { class: "agi-rows" }, ...rows.slice(0, 40)),
    rows.length > 40 && el("p", { class: "agi-quiet" }, andMore(rows.length - 40)),
  );
}

function finding(context: Context, index: number): HTMLElement {
  const { rule, name, severity } = context.capture.data.findings[index]!;
  return button(`${rule} ${name}`, () => context.choose(index, "details"), {
    class: `agi-chip agi-${severity}`,
  });
}

function lines(context: Context, frames: Frame[]): HTMLElement | null {
  if (!frames.length) return null;
  const rows = frames
    .slice(0, 6)
    .map((frame, n) =>
      el(
        "li",
        { class: n === 0 ? "agi-line agi-first" : "agi-line" },
        placed(context, frame.place, { ...frame, cellId: "" }),
        frame.function && frame.function !== "<module>"
          ? el("span", { class: "agi-quiet" }, ` ${trans.__("in %1", frame.function)}`)
          : null,
        frame.source ? source(frame.source) : null,
      ),
    );
  return el(
    "div",
    { class: "agi-section" },
    el("h4", {}, trans.__("Source")),
    el("ol", { class: "agi-lines" }, ...rows),
  );
}

/** Ops in program order beside their lines; the slider takes the program back in time. */

import { momentsOf } from "../model/moments";
import { grouped } from "../model/said";
import { trans } from "../words";
import type { Context } from "./context";
import { button, el } from "./dom";
import { SourcePane } from "./source_pane";
import { steps } from "./steps";
import { SHOWN } from "./tabs";
import { VirtualList } from "./virtual_list";

const SIGNS = { op: "", mode: "◐", backward: "↩", step: "⇣", change: "✎" };
const HEIGHT = 26;

export function timeline(context: Context): HTMLElement {
  const { capture } = context;
  const moments = momentsOf(capture);
  const history = steps(capture.data.steps);
  if (capture.data.head.short) {
    const why = trans.__(
      "The capture was too large to save its ops. Run the cell again to see them.",
    );
    return el("div", {}, history, el("p", { class: "agi-empty" }, why));
  }
  if (!moments.length)
    return el("p", { class: "agi-empty" }, trans.__("Nothing ran in this capture."));
  const last = moments.length - 1;
  let now = last;

  const row = (n: number): HTMLElement => {
    const moment = moments[n]!;
    const selected = moment.node >= 0 && context.selection.ids.includes(moment.node);
    const kinds = [
      `agi-moment agi-${moment.kind}`,
      n > now && "agi-later",
      n === now && "agi-now",
      moment.alarming && "agi-alarm",
      selected && "agi-selected",
    ];
    const text = el("span", { class: "agi-moment-title" }, moment.title);
    return el(
      "li",
      { class: kinds.filter(Boolean).join(" ") },
      el("span", { class: "agi-gutter" }, moment.op >= 0 ? moment.op + 1 : ""),
      el("span", { class: "agi-symbol", "aria-hidden": "true" }, SIGNS[moment.kind]),
      moment.node >= 0 ? button(text, () => choose(n), { class: "agi-link" }) : text,
      el("span", { class: "agi-quiet", title: moment.said }, el("bdi", {}, moment.said)),
      el("span", { class: "agi-place" }, capture.place(moment.site)?.place ?? ""),
    );
  };
  const list = new VirtualList(trans.__("Ops in program order"), moments.length, HEIGHT, row);
  const pane = new SourcePane(capture, moments, (n) => go(n));
  const output = el("output", { class: "agi-quiet" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    value: last,
    class: "agi-slider",
    "aria-label": trans.__("Time"),
    on: { input: () => go(Number(slider.value)) },
  });

  function choose(n: number): void {
    context.selection.set([moments[n]!.node], "timeline", true);
  }

  function go(n: number): void {
    now = Math.min(Math.max(n, 0), last);
    slider.value = String(now);
    tell();
    list.reveal(now);
    pane.at(capture, moments, now);
    const { op, at } = moments[now]!;
    context.greyAfter(now === last ? null : op >= 0 ? op : at - 1);
  }

  function tell(): void {
    const moment = moments[now]!;
    const text = trans.__("%1 of %2: %3", now + 1, grouped(moments.length), moment.title);
    const ops = capture.data.ops.name.length;
    output.textContent =
      now === last
        ? trans._n("the end, after %2 op", "the end, after %2 ops", ops, grouped(ops))
        : text;
    slider.setAttribute("aria-valuetext", text);
  }

  function selected(): void {
    const id = context.selection.ids[0];
    const at = id === undefined ? -1 : moments.findIndex((moment) => moment.node === id);
    if (at >= 0) list.reveal(at);
    else list.refresh();
  }
  context.selection.listen(selected);
  tell();
  pane.at(capture, moments, -1);
  for (const line of pane.host.querySelectorAll(".agi-later")) line.classList.remove("agi-later");
  return el(
    "div",
    { class: "agi-timeline", on: { [SHOWN]: selected } },
    history,
    el(
      "div",
      { class: "agi-toolbar" },
      button("◀", () => go(now - 1), { "aria-label": trans.__("One back") }),
      slider,
      button("▶", () => go(now + 1), { "aria-label": trans.__("One forward") }),
      output,
    ),
    el("div", { class: "agi-columns" }, pane.host, list.host),
  );
}

/** Ops in program order beside their lines; the slider takes the program back in time. */

import { momentsOf } from "../model/moments";
import { counted } from "../model/shown";
import type { Context } from "./context";
import { button, el } from "./dom";
import { SourcePane } from "./source_pane";
import { VirtualList } from "./virtual_list";

const SIGNS = { op: "", mode: "◐", backward: "↩", step: "⇣", change: "✎" };
const HEIGHT = 26;

export function timeline(context: Context): HTMLElement {
  const { capture } = context;
  const moments = momentsOf(capture);
  if (!moments.length) return el("p", { class: "ag-empty" }, "Nothing ran in this capture.");
  const last = moments.length - 1;
  let now = last;

  const row = (n: number): HTMLElement => {
    const moment = moments[n]!;
    const selected = moment.node >= 0 && context.selection.ids.includes(moment.node);
    const kinds = [
      `ag-moment ag-${moment.kind}`,
      n > now && "ag-later",
      n === now && "ag-now",
      moment.alarming && "ag-alarm",
      selected && "ag-selected",
    ];
    const text = el("span", { class: "ag-moment-title" }, moment.title);
    return el(
      "li",
      { class: kinds.filter(Boolean).join(" ") },
      el("span", { class: "ag-gutter" }, moment.op >= 0 ? moment.op + 1 : ""),
      el("span", { class: "ag-sign", "aria-hidden": "true" }, SIGNS[moment.kind]),
      moment.node >= 0 ? button(text, () => choose(n), { class: "ag-link" }) : text,
      el("span", { class: "ag-quiet", title: moment.said }, moment.said),
      el("span", { class: "ag-place" }, capture.place(moment.site)?.place ?? ""),
    );
  };
  const list = new VirtualList("Ops in program order", moments.length, HEIGHT, row);
  const pane = new SourcePane(capture, moments, (n) => go(n));
  const said = el("output", { class: "ag-quiet" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    value: last,
    class: "ag-slider",
    "aria-label": "Time",
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
    const text = `${now + 1} of ${moments.length.toLocaleString("en")}: ${moment.title}`;
    said.textContent =
      now === last ? `the end, after ${counted(capture.data.ops.name.length, "op")}` : text;
    slider.setAttribute("aria-valuetext", text);
  }

  context.selection.listen((ids) => {
    const at = ids.length ? moments.findIndex((moment) => moment.node === ids[0]) : -1;
    if (at >= 0) list.reveal(at);
    else list.refresh();
  });
  tell();
  pane.at(capture, moments, -1);
  for (const line of pane.host.querySelectorAll(".ag-later")) line.classList.remove("ag-later");
  return el(
    "div",
    { class: "ag-timeline" },
    el(
      "div",
      { class: "ag-toolbar" },
      button("◀", () => go(now - 1), { "aria-label": "One back" }),
      slider,
      button("▶", () => go(now + 1), { "aria-label": "One forward" }),
      said,
    ),
    el("div", { class: "ag-columns" }, pane.host, list.host),
  );
}

/** Every finding with its story in steps, the lines, and what to write instead. */

import { counted } from "../model/shown";
import type { Place, Story } from "../wire";
import type { Context } from "./context";
import { copyButton } from "./copy";
import { button, el, source } from "./dom";

const CALLER = "called from";

export function findings(context: Context): HTMLElement {
  const { findings, head } = context.capture.data;
  const notes = head.notes.length
    ? el(
        "section",
        { class: "ag-notes" },
        el("h4", {}, "Notes"),
        el("ul", {}, ...head.notes.map((note) => el("li", {}, note))),
      )
    : null;
  const ignored = head.ignored > 0 && el("p", { class: "ag-quiet" }, `${head.ignored} ignored`);
  if (!findings.length) {
    const said = "No findings: gradient reaches what it should, and state is where it belongs.";
    return el(
      "div",
      { class: "ag-findings" },
      el("p", { class: "ag-empty" }, said),
      ignored,
      notes,
    );
  }
  const cards = findings.map((finding) => card(context, finding));
  context.selection.listen((ids) => {
    findings.forEach((finding, n) => {
      const about = ids.length > 0 && ids.every((id) => finding.nodes?.includes(id));
      cards[n]!.classList.toggle("ag-selected", about);
    });
  });
  return el("div", { class: "ag-findings" }, ...cards, ignored, notes);
}

function card(context: Context, finding: Story): HTMLElement {
  const nodes = finding.nodes ?? [];
  const show = () => {
    context.show("Graph");
    context.selection.set(nodes, "findings", true);
    context.say(`${finding.rule} ${finding.name}: ${nodes.length} nodes selected`);
  };
  const places = told(finding.places ?? []);
  const fix = finding.fix;
  return el(
    "article",
    { class: `ag-finding ag-${finding.severity}`, "aria-label": `${finding.rule} ${finding.name}` },
    el(
      "div",
      { class: "ag-finding-head" },
      el("span", { class: `ag-severity ag-${finding.severity}` }, finding.severity),
      el("h3", {}, el("span", { class: "ag-rule" }, finding.rule), " ", finding.name),
      nodes.length > 0 &&
        button("Show in graph", show, {
          class: "ag-show",
          "aria-label": `Show in graph: ${finding.rule} ${finding.name}`,
        }),
    ),
    el("p", { class: "ag-message" }, finding.message),
    finding.steps?.length
      ? el("ol", { class: "ag-steps" }, ...finding.steps.map((step) => el("li", {}, step)))
      : null,
    places.length > 0 && el("ul", { class: "ag-story" }, ...places),
    fix
      ? el(
          "div",
          { class: "ag-fix" },
          el("span", { class: "ag-fix-title" }, "Fix"),
          copyButton(fix, "the fix"),
          el("pre", {}, fix),
        )
      : null,
    finding.subjects?.length
      ? el("p", { class: "ag-quiet" }, `concerns ${few(finding.subjects)}`)
      : null,
    ...(finding.consequences ?? []).map((text) =>
      el("p", { class: "ag-quiet" }, `follows from it: ${text}`),
    ),
  );
}

/** The lines of the story; who called one of them is folded away beneath it. */
function told(places: Place[]): HTMLElement[] {
  const found: { place: Place; callers: Place[] }[] = [];
  for (const place of places) {
    if (place.role === CALLER && found.length) found[found.length - 1]!.callers.push(place);
    else found.push({ place, callers: [] });
  }
  return found.map(({ place, callers }) =>
    el(
      "li",
      {},
      ...line(place),
      callers.length > 0 &&
        el(
          "details",
          { class: "ag-callers" },
          el("summary", {}, counted(callers.length, "caller")),
          el("ul", {}, ...callers.map((caller) => el("li", {}, ...line(caller)))),
        ),
    ),
  );
}

function line(place: Place): HTMLElement[] {
  const code = place.source
    ? source(place.source, place.expression)
    : el("code", { class: "ag-source" }, place.function ? `(in ${place.function})` : "");
  return [
    el("span", { class: "ag-role" }, place.role === CALLER ? "" : place.role || "here"),
    code,
    el("span", { class: "ag-place" }, place.place),
  ];
}

function few(names: string[]): string {
  const more = names.length > 8 ? ` and ${names.length - 8} more` : "";
  return names.slice(0, 8).join(", ") + more;
}

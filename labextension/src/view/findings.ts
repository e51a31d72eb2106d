/** Every finding with its story in steps, the lines, and what to write instead. */

import { counted } from "../model/shown";
import type { Target } from "../state/reveal";
import type { FindingView, Place } from "../wire";
import type { Context } from "./context";
import { copyButton } from "./copy";
import { button, el, prose, source } from "./dom";
import { placed } from "./place";
import { type Scene, scenes } from "./story";

export function findings(context: Context): HTMLElement {
  const { findings, head } = context.capture.data;
  const notes = head.notes.length
    ? el(
        "section",
        { class: "agi-notes" },
        el("h4", {}, "Notes"),
        el("ul", {}, ...head.notes.map((note) => el("li", {}, prose(note)))),
      )
    : null;
  const ignored = head.ignored > 0 && el("p", { class: "agi-quiet" }, `${head.ignored} ignored`);
  if (!findings.length) {
    const text = "No findings: gradient reaches what it should, and state is where it belongs.";
    return el(
      "div",
      { class: "agi-findings" },
      el("p", { class: "agi-empty" }, text),
      ignored,
      notes,
    );
  }
  const cards = findings.map((finding) => card(context, finding));
  context.selection.listen((ids) => {
    findings.forEach((finding, n) => {
      const about = ids.length > 0 && ids.every((id) => finding.nodes?.includes(id));
      cards[n]!.classList.toggle("agi-selected", about);
    });
  });
  return el("div", { class: "agi-findings" }, ...cards, ignored, notes);
}

function card(context: Context, finding: FindingView): HTMLElement {
  const nodes = finding.nodes ?? [];
  const show = () => {
    context.show("Graph");
    context.selection.set(nodes, "findings", true);
    context.announce(`${finding.rule} ${finding.name}: ${nodes.length} nodes selected`);
  };
  const places = scenes(finding.places ?? []).map((one) => scene(context, one));
  const fix = finding.fix;
  return el(
    "article",
    {
      class: `agi-finding agi-${finding.severity}`,
      "aria-label": `${finding.rule} ${finding.name}`,
    },
    el(
      "div",
      { class: "agi-finding-head" },
      el("span", { class: `agi-severity agi-${finding.severity}` }, finding.severity),
      el("h3", {}, el("span", { class: "agi-rule" }, finding.rule), " ", finding.name),
      nodes.length > 0 &&
        button("Show in graph", show, {
          class: "agi-show",
          "aria-label": `Show in graph: ${finding.rule} ${finding.name}`,
        }),
    ),
    el("p", { class: "agi-message" }, prose(finding.message)),
    finding.steps?.length
      ? el("ol", { class: "agi-steps" }, ...finding.steps.map((step) => el("li", {}, prose(step))))
      : null,
    places.length > 0 && el("ol", { class: "agi-story" }, ...places),
    fix
      ? el(
          "div",
          { class: "agi-fix" },
          el("span", { class: "agi-fix-title" }, "Fix"),
          copyButton(fix, "the fix"),
          fixText(fix),
        )
      : null,
    finding.subjects?.length
      ? el("p", { class: "agi-quiet" }, `concerns ${few(finding.subjects)}`)
      : null,
    ...(finding.consequences ?? []).map((text) =>
      el("p", { class: "agi-quiet" }, "follows from it: ", prose(text)),
    ),
  );
}

/** A line of the story; who called it is folded away beneath it. */
function scene(context: Context, { place, callers }: Scene): HTMLElement {
  return el(
    "li",
    {},
    ...line(context, place, place.role || "here"),
    callers.length > 0 &&
      el(
        "details",
        { class: "agi-callers" },
        el("summary", {}, counted(callers.length, "caller")),
        el("ul", {}, ...callers.map((caller) => el("li", {}, ...line(context, caller, "")))),
      ),
  );
}

function line(context: Context, place: Place, role: string): HTMLElement[] {
  const code = place.source
    ? source(place.source, place.expression)
    : el("code", { class: "agi-source" }, place.function ? `(in ${place.function})` : "");
  const head = el(
    "p",
    { class: "agi-scene" },
    role ? el("span", { class: "agi-role" }, role) : null,
    placed(context, place.place, targetOf(place)),
  );
  return [head, code];
}

function targetOf(place: Place): Target {
  const { cell = "", filename = "", line = 0, source = "" } = place;
  return { cell, filename, line, source, cellId: "" };
}

function few(names: string[]): string {
  const more = names.length > 8 ? ` and ${names.length - 8} more` : "";
  return names.slice(0, 8).join(", ") + more;
}

/** Several lines without a word of prose are statements: their indentation counts. */
function fixText(fix: string): HTMLElement {
  const code = fix.includes("\n") && !fix.includes("`");
  if (!code) return el("p", { class: "agi-fix-text" }, prose(fix));
  return el("pre", { class: "agi-fix-text" }, el("code", {}, fix));
}

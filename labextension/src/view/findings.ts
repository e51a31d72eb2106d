/** Every finding with its story in steps, the lines, and what to write instead. */

import { counted } from "../model/shown";
import type { Target } from "../state/reveal";
import type { Place, Story } from "../wire";
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
        { class: "ai-notes" },
        el("h4", {}, "Notes"),
        el("ul", {}, ...head.notes.map((note) => el("li", {}, prose(note)))),
      )
    : null;
  const ignored = head.ignored > 0 && el("p", { class: "ai-quiet" }, `${head.ignored} ignored`);
  if (!findings.length) {
    const said = "No findings: gradient reaches what it should, and state is where it belongs.";
    return el(
      "div",
      { class: "ai-findings" },
      el("p", { class: "ai-empty" }, said),
      ignored,
      notes,
    );
  }
  const cards = findings.map((finding) => card(context, finding));
  context.selection.listen((ids) => {
    findings.forEach((finding, n) => {
      const about = ids.length > 0 && ids.every((id) => finding.nodes?.includes(id));
      cards[n]!.classList.toggle("ai-selected", about);
    });
  });
  return el("div", { class: "ai-findings" }, ...cards, ignored, notes);
}

function card(context: Context, finding: Story): HTMLElement {
  const nodes = finding.nodes ?? [];
  const show = () => {
    context.show("Graph");
    context.selection.set(nodes, "findings", true);
    context.say(`${finding.rule} ${finding.name}: ${nodes.length} nodes selected`);
  };
  const places = scenes(finding.places ?? []).map((one) => scene(context, one));
  const fix = finding.fix;
  return el(
    "article",
    { class: `ai-finding ai-${finding.severity}`, "aria-label": `${finding.rule} ${finding.name}` },
    el(
      "div",
      { class: "ai-finding-head" },
      el("span", { class: `ai-severity ai-${finding.severity}` }, finding.severity),
      el("h3", {}, el("span", { class: "ai-rule" }, finding.rule), " ", finding.name),
      nodes.length > 0 &&
        button("Show in graph", show, {
          class: "ai-show",
          "aria-label": `Show in graph: ${finding.rule} ${finding.name}`,
        }),
    ),
    el("p", { class: "ai-message" }, prose(finding.message)),
    finding.steps?.length
      ? el("ol", { class: "ai-steps" }, ...finding.steps.map((step) => el("li", {}, prose(step))))
      : null,
    places.length > 0 && el("ol", { class: "ai-story" }, ...places),
    fix
      ? el(
          "div",
          { class: "ai-fix" },
          el("span", { class: "ai-fix-title" }, "Fix"),
          copyButton(fix, "the fix"),
          fixText(fix),
        )
      : null,
    finding.subjects?.length
      ? el("p", { class: "ai-quiet" }, `concerns ${few(finding.subjects)}`)
      : null,
    ...(finding.consequences ?? []).map((text) =>
      el("p", { class: "ai-quiet" }, "follows from it: ", prose(text)),
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
        { class: "ai-callers" },
        el("summary", {}, counted(callers.length, "caller")),
        el("ul", {}, ...callers.map((caller) => el("li", {}, ...line(context, caller, "")))),
      ),
  );
}

function line(context: Context, place: Place, role: string): HTMLElement[] {
  const code = place.source
    ? source(place.source, place.expression)
    : el("code", { class: "ai-source" }, place.function ? `(in ${place.function})` : "");
  const head = el(
    "p",
    { class: "ai-scene" },
    role ? el("span", { class: "ai-role" }, role) : null,
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
  if (!code) return el("p", { class: "ai-fix-text" }, prose(fix));
  return el("pre", { class: "ai-fix-text" }, el("code", {}, fix));
}

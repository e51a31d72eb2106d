/** What a finding tells below its sentence: the lines, the steps, whom it concerns, what follows, what its rule is about. */

import { culpritOf, fullPlaceOf, textOf } from "../model/finding_text";
import { andMore } from "../model/said";
import type { Wish } from "../state/edits";
import type { FindingView, RulePage } from "../wire";
import { trans } from "../words";
import { codeBlock } from "./code_block";
import type { Context } from "./context";
import { copyButton } from "./copy";
import { button, el, prose } from "./dom";
import { told } from "./place";

export function story(context: Context, finding: FindingView): (HTMLElement | null)[] {
  const blocks = (finding.code ?? []).map((excerpt) => codeBlock(context, excerpt));
  return [
    ...blocks,
    finding.steps?.length
      ? el("ol", { class: "agi-steps" }, ...finding.steps.map((step) => el("li", {}, prose(step))))
      : null,
    finding.subjects?.some((name) => !finding.message.includes(name))
      ? el("p", { class: "agi-quiet" }, prose(trans.__("concerns %1", few(finding.subjects))))
      : null,
    ...(finding.consequences ?? []).map((text) =>
      el("p", { class: "agi-quiet" }, prose(trans.__("follows from it: %1", text))),
    ),
  ];
}

/** What to write instead; several lines without a word of prose are statements: their indentation counts. */
export function fixBox(context: Context, finding: FindingView): HTMLElement | null {
  const { fix } = finding;
  if (!fix) return null;
  const code = fix.includes("\n") && !fix.includes("`");
  const text = code
    ? el(
        "pre",
        { class: "agi-fix-text", ...scrolled(trans.__("the statements")) },
        el("code", {}, fix),
      )
    : el("p", { class: "agi-fix-text" }, prose(fix));
  return el(
    "div",
    { class: "agi-fix" },
    el("span", { class: "agi-fix-title" }, trans.__("Fix")),
    text,
    ...applying(context, finding),
    copyButton(fix, trans.__("Copy the fix")),
  );
}

/** The program's lines as they would be: what goes, what comes, and a line around them; or why there is no edit. */
export function patchBox(finding: FindingView): HTMLElement | null {
  if (!finding.changes?.length) {
    return finding.unedited
      ? el("p", { class: "agi-quiet" }, prose(trans.__("No edit: %1", finding.unedited)))
      : null;
  }
  const lines = finding.changes.map((line) => {
    const sign = SIGNS[line.charAt(0)] ?? "agi-stays";
    return el("span", { class: sign }, `${line}\n`);
  });
  const caveat =
    finding.applicability === "unsafe"
      ? trans.__("Unsafe: it may change what the program does.")
      : trans.__("Safe: it changes nothing except the fault.");
  return el(
    "figure",
    { class: "agi-patch" },
    el(
      "figcaption",
      {},
      el("span", { class: "agi-fix-title" }, trans.__("Edit")),
      finding.patch
        ? copyButton(finding.patch, trans.__("Copy the patch"), trans.__("Copy patch"))
        : null,
    ),
    el("pre", scrolled(trans.__("the edit")), ...lines),
    el("p", { class: "agi-quiet" }, caveat),
    finding.tried ? el("p", { class: "agi-quiet" }, trans.__("Edit %1", finding.tried)) : null,
  );
}

function applying(context: Context, finding: FindingView): HTMLElement[] {
  const { edits, capture } = context;
  const { rule, name, patch = "" } = finding;
  if (!edits?.can(patch)) return [];
  const unsafe = finding.applicability === "unsafe";
  const fix = { rule, name, patch, unsafe, cell: capture.data.head.cell };
  const ask = (label: string, described: string, wish: Wish, done = "") =>
    button(label, () => told(context, edits.make(fix, wish), done), {
      class: "agi-apply",
      "aria-label": described,
    });
  const done = trans.__("edit applied");
  return [
    ask(trans.__("Preview fix"), trans.__("Preview the edit of the cell"), "preview"),
    ask(trans.__("Apply"), trans.__("Apply the edit to the cell"), "apply", done),
    ask(trans.__("Apply and run"), trans.__("Apply the edit to the cell, and run it"), "run", done),
  ];
}

/** A text that may be larger than its box is scrolled with the keyboard as well. */
function scrolled(name: string): { tabindex: string; role: string; "aria-label": string } {
  return { tabindex: "0", role: "group", "aria-label": name };
}

const SIGNS: Record<string, string> = { "-": "agi-goes", "+": "agi-comes" };

export function copies(finding: FindingView): HTMLElement {
  const culprit = culpritOf(finding);
  return el(
    "p",
    { class: "agi-copies" },
    culprit && copyButton(fullPlaceOf(culprit), trans.__("Copy the place"), trans.__("Copy place")),
    copyButton(textOf(finding), trans.__("Copy the finding"), trans.__("Copy finding")),
  );
}

/** The rule's page, folded. */
export function about(context: Context, rule: string): HTMLElement | null {
  const page = context.capture.data.pages?.find((one) => one.rule === rule);
  if (!page) return null;
  return el(
    "details",
    { class: "agi-about" },
    el("summary", {}, trans.__("About %1", rule)),
    ...sections(page),
  );
}

function sections(page: RulePage): HTMLElement[] {
  return page.sections.flatMap(({ title, text, code }) => [
    ...(title ? [el("h4", {}, title)] : []),
    code ? el("pre", {}, el("code", {}, text)) : el("p", {}, prose(text)),
  ]);
}

function few(names: string[]): string {
  const more = names.length > 8 ? ` ${andMore(names.length - 8)}` : "";
  return names.slice(0, 8).join(", ") + more;
}

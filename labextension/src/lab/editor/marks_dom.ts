/** What marks look like. Text of the program reaches the page through `textContent` alone. */

import { severityOf } from "../../model/severity";
import { el, prose } from "../../view/dom";
import { badge } from "../../view/graph/badge";
import { svg } from "../../view/svg";
import { trans } from "../i18n";
import type { Mark } from "../kernel/messages";
import type { MarkedLine } from "./marks_of";

/** The shapes that the graph has for it, too. */
export function shape(severity: string): SVGSVGElement {
  const level = severityOf(severity);
  return svg(
    "svg",
    {
      class: `agi-host agi-severity-shape agi-${level}`,
      viewBox: "-10 -10 20 20",
      "aria-hidden": "true",
    },
    badge(level, 0, 0),
  );
}

/** In the gutter. Commands lead from mark to mark, so it is no stop for the Tab key. */
export function sign(marked: MarkedLine): HTMLElement {
  const messages = marked.marks.map((mark) => `${mark.rule}: ${mark.message}`).join("; ");
  return el(
    "button",
    {
      type: "button",
      tabindex: "-1",
      class: `agi-host agi-mark-sign ${marked.culprit ? "agi-culprit" : "agi-beside"}`,
      "aria-label": trans.__("Line %1, %2", marked.line, messages),
    },
    shape(marked.severity),
  );
}

export function tip(marked: MarkedLine): HTMLElement {
  return el(
    "div",
    { class: "agi-host agi-mark-tip", role: "tooltip" },
    ...marked.marks.map(tipSection),
  );
}

function tipSection(mark: Mark): HTMLElement {
  return el(
    "section",
    {},
    el(
      "p",
      { class: "agi-mark-tip-head" },
      shape(mark.severity),
      el("strong", {}, `${mark.rule} ${mark.name}`),
      el("span", { class: "agi-mark-tip-role" }, mark.role),
    ),
    el("p", {}, prose(mark.message)),
    mark.fix &&
      el("p", { class: "agi-mark-tip-fix" }, el("b", {}, trans.__("Fix")), " ", prose(mark.fix)),
  );
}

/** Every finding on one line; the one that is read is open, with its lines and what to write instead. */

import { culpritOf, placeOf } from "../model/finding_text";
import { term } from "../model/said";
import { severityOf } from "../model/severity";
import type { FindingView } from "../wire";
import { trans } from "../words";
import type { Context } from "./context";
import { button, el, prose, source } from "./dom";
import { about, copies, fixBox, patchBox, story } from "./finding_body";

export function findings(context: Context): HTMLElement {
  const { findings, head } = context.capture.data;
  const notes = head.notes.length
    ? el(
        "section",
        { class: "agi-notes" },
        el("h4", {}, trans.__("Notes")),
        el("ul", {}, ...head.notes.map((note) => el("li", {}, prose(note)))),
      )
    : null;
  const ignored =
    head.ignored > 0 &&
    el("p", { class: "agi-quiet" }, trans._n("%1 ignored", "%1 ignored", head.ignored));
  if (!findings.length) {
    const text = trans.__("No findings: gradients and optimizer state are as expected.");
    return el(
      "div",
      { class: "agi-findings" },
      el("p", { class: "agi-empty" }, text),
      ignored,
      notes,
    );
  }
  const rows = findings.map((finding, n) => new Row(context, finding, n));
  const follow = () => {
    for (const row of rows) row.follow();
  };
  context.selection.listen(follow);
  follow();
  return el("div", { class: "agi-findings" }, ...rows.map((row) => row.host), ignored, notes);
}

/** One finding; what it holds is made when it is first opened. */
class Row {
  readonly host: HTMLDetailsElement;
  #filled = false;

  constructor(
    private readonly context: Context,
    private readonly finding: FindingView,
    private readonly n: number,
  ) {
    const { rule, name } = finding;
    const severity = severityOf(finding.severity);
    const culprit = culpritOf(finding);
    this.host = el(
      "details",
      { class: `agi-finding agi-tone agi-${severity}`, "aria-label": `${rule} ${name}` },
      el(
        "summary",
        {},
        el("span", { class: `agi-severity agi-${severity}` }, term(finding.severity)),
        el(
          "span",
          { class: "agi-finding-name" },
          el("span", { class: "agi-rule" }, rule),
          ` ${name}`,
        ),
        finding.ranks && el("span", { class: "agi-quiet" }, trans.__("on %1", finding.ranks)),
        culprit && source(culprit.line.text.trim(), culprit.line.expression ?? ""),
        culprit && el("span", { class: "agi-place" }, placeOf(culprit)),
      ),
    );
    this.host.addEventListener("toggle", () => {
      if (this.host.open) this.#opened();
    });
  }

  /** Open while it is the one that is read. */
  follow(): void {
    const read = this.context.finding === this.n;
    if (read) this.#fill();
    if (read && !this.host.open) this.host.open = true;
    this.host.classList.toggle("agi-selected", this.context.selection.finding === this.n);
  }

  #opened(): void {
    this.#fill();
    if (this.context.finding !== this.n) this.context.choose(this.n, "findings");
  }

  #fill(): void {
    if (this.#filled) return;
    this.#filled = true;
    const { context, finding, n } = this;
    const { rule, name, message, nodes = [] } = finding;
    const show = () => {
      context.show("Graph");
      context.choose(n, "findings");
    };
    const parts = [
      el("p", { class: "agi-message" }, prose(message)),
      fixBox(context, finding),
      patchBox(finding),
      ...story(context, finding),
      about(context, rule),
      el(
        "div",
        { class: "agi-finding-tools" },
        nodes.length > 0 &&
          button(trans.__("Show in graph"), show, {
            class: "agi-show",
            "aria-label": trans.__("Show in graph: %1", `${rule} ${name}`),
          }),
        copies(finding),
      ),
    ];
    this.host.append(...parts.filter((part) => part !== null));
  }
}

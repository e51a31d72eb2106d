/** What activation checkpointing of which modules would save. */

import { counted } from "../../model/said";
import { size } from "../../model/shown";
import type { CheckpointSaving } from "../../wire";
import { trans } from "../../words";
import { around, button, dotted, el, HOLE } from "../dom";

/** Nothing where it would save nothing. */
export function checkpoints(
  savings: readonly CheckpointSaving[],
  choose: (saving: CheckpointSaving) => void,
): HTMLElement | null {
  const [first] = savings;
  if (!first) return null;
  const heads = [
    trans.__("modules"),
    trans.__("kept for backward"),
    trans.__("most in backward"),
    trans.__("run twice"),
  ];
  const rows = savings.map((saving) => {
    const { name, modules, type, held, before, peak, ops } = saving;
    const many = modules.length > 1 ? `${modules.length} × ${type}` : type;
    const share = el("i", { class: "agi-meter agi-bytes-saved", "aria-hidden": "true" });
    share.style.width = `${(100 * held) / before}%`;
    return el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        button(dotted(name), () => choose(saving), { class: "agi-link" }),
        el("span", { class: "agi-quiet" }, ` ${many}`),
      ),
      el("td", {}, el("span", { class: "agi-kept" }, share), size(held)),
      el("td", {}, size(peak)),
      el("td", {}, counted(ops, "op")),
    );
  });
  return el(
    "details",
    { class: "agi-checkpoints" },
    el(
      "summary",
      {},
      ...around(
        trans.__(
          "Checkpointing %1 would keep %2 for backward instead of %3",
          HOLE,
          size(first.held),
          size(first.before),
        ),
        el("b", {}, first.name),
      ),
    ),
    el(
      "div",
      { class: "agi-table", tabindex: "0", role: "group", "aria-label": trans.__("Checkpointing") },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows),
      ),
    ),
  );
}

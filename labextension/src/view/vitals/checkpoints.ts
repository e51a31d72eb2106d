/** What activation checkpointing of which modules would save. */

import { counted, size } from "../../model/shown";
import type { CheckpointSaving } from "../../wire";
import { button, dotted, el } from "../dom";

const HEADS = ["modules", "kept for backward", "most in backward", "run twice"];

/** Nothing where it would save nothing. */
export function checkpoints(
  savings: readonly CheckpointSaving[],
  choose: (saving: CheckpointSaving) => void,
): HTMLElement | null {
  const [first] = savings;
  if (!first) return null;
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
      "Checkpointing ",
      el("b", {}, first.name),
      ` would keep ${size(first.held)} for backward instead of ${size(first.before)}`,
    ),
    el(
      "div",
      { class: "agi-table", tabindex: "0", role: "group", "aria-label": "Checkpointing" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...HEADS.map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows),
      ),
    ),
  );
}

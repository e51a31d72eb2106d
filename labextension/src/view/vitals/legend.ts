/** What the shades mean. */

import { type Scale, STEPS, said } from "../../model/vitals/scale";
import { trans } from "../../words";
import { el } from "../dom";

export function legend(scale: Scale): HTMLElement {
  const steps = Array.from({ length: STEPS }, (_, n) => el("i", { class: `agi-shade-${n}` }));
  const kind = (shade: "zero" | "nonfinite", text: string) =>
    scale.has.has(shade) && el("span", {}, el("i", { class: `agi-shade-${shade}` }), text);
  return el(
    "div",
    { class: "agi-scale" },
    el("span", {}, said(scale.low)),
    el("span", { class: "agi-scale-steps", "aria-hidden": "true" }, ...steps),
    el(
      "span",
      {},
      scale.logarithmic ? trans.__("%1 (logarithmic)", said(scale.high)) : said(scale.high),
    ),
    kind("zero", trans.__("exactly 0")),
    kind("nonfinite", trans.__("NaN or infinity")),
  );
}

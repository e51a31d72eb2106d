/** The losses that a gradient came from, each with the line of its backward(). */

import type { GradientOrigin } from "../wire";
import { trans } from "../words";
import type { Context } from "./context";
import { dotted, el } from "./dom";
import { placed } from "./place";

export function losses(context: Context, origin: GradientOrigin): HTMLElement[] {
  return origin.losses.map(({ said, site }) => {
    const frame = context.capture.frames(site)[0];
    return el(
      "li",
      {},
      el("b", {}, dotted(said.replaceAll("`", ""))),
      " ",
      frame && placed(context, frame.place, { ...frame, cellId: "" }),
    );
  });
}

/** All of it in one line of a table. */
export function inline(context: Context, origin: GradientOrigin): HTMLElement {
  const listed = origin.losses.length > 0;
  return el(
    "span",
    { class: "agi-origin" },
    listed && el("ul", { class: "agi-terms" }, ...losses(context, origin)),
    origin.remark && el("span", {}, listed ? `, ${origin.remark}` : origin.remark),
  );
}

/** "of 2 losses" where a gradient is a sum. */
export function summed(origin: GradientOrigin): string {
  const { length } = origin.losses;
  return length > 1 ? trans._n("of %1 loss", "of %1 losses", length) : "";
}

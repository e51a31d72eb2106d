/** A mark at the corner of a box: how grave what happened there is, told by shape and sign, not by colour alone. */

import type { Item } from "../../layout/scene";
import type { Severity } from "../../model/graph";
import { trans } from "../../words";
import { svg } from "../svg";

/** Outline and sign about (0, 0): a stop sign with a cross, a triangle with an exclamation mark, a disc with an i. */
export const BADGES: Record<Severity, { shape: string; sign: string; meaning(): string }> = {
  error: {
    shape: "M-3.3 -8H3.3L8 -3.3V3.3L3.3 8H-3.3L-8 3.3V-3.3Z",
    sign: "M-3 -3L3 3M3 -3L-3 3",
    meaning: () => trans.__("error"),
  },
  warning: {
    shape: "M0 -8.5L9 7H-9Z",
    sign: "M0 -3.4V1.6M0 4.3V4.5",
    meaning: () => trans.__("warning"),
  },
  info: {
    shape: "M-8 0A8 8 0 0 1 8 0A8 8 0 0 1 -8 0Z",
    sign: "M0 -4.2V-4M0 -1.2V4.2",
    meaning: () => trans.__("worth seeing"),
  },
};

/** At this scale a badge is as small as may be. */
const STILL_SEEN = 0.7;

/** How grave what an item stands for is; an open box leaves that to what is in it. */
export function severityOfItem(item: Item): Severity | "" {
  if (item.cut) return item.cut.severity;
  return item.open ? "" : item.box!.troubles.worst;
}

/** From the upper left corner of its item; the text of a cut fills it to its end. */
export const badgeAt = (item: Item): [number, number] => [item.width + (item.cut ? 5 : -4), 1];

export function badge(severity: Severity, x: number, y: number): SVGGElement {
  const { shape, sign } = BADGES[severity];
  return svg(
    "g",
    {
      class: `agi-badge agi-${severity}`,
      transform: `translate(${x} ${y})`,
      "aria-hidden": "true",
    },
    svg(
      "g",
      { class: "agi-badge-sized" },
      svg("path", { class: "agi-badge-shape", d: shape }),
      svg("path", { class: "agi-badge-sign", d: sign }),
    ),
  );
}

/** How large badges are drawn at a scale: where boxes are too small to be read, they keep their size on the screen. */
export function growth(severity: Severity, k: number): number {
  return severity === "info" ? 1 : Math.max(1, STILL_SEEN / k);
}

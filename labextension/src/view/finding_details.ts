/** The finding that is read, beside the picture; its sentence and its fix stand above both. */

import { trans } from "../words";
import type { Context } from "./context";
import { el } from "./dom";
import { about, copies, patchBox, story } from "./finding_body";
import { raised } from "./header";

export function findingDetails(context: Context, index: number): (HTMLElement | null)[] {
  const { findings, head } = context.capture.data;
  const finding = findings[index]!;
  return [
    patchBox(finding),
    el("h3", {}, trans.__("Where it happened")),
    ...story(context, finding),
    head.error
      ? el(
          "details",
          { class: "agi-about" },
          el("summary", {}, trans.__("What the program raised")),
          raised(head.error),
        )
      : null,
    about(context, finding.rule),
    copies(finding),
  ];
}

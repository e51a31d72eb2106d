/** One line in place of the widget, when there is nothing that it can show. */

import { WireError } from "../model/decode";
import { trans } from "../words";
import { el } from "./dom";

/** What is wrong, in one line. */
export function reason(error: unknown): string {
  if (error instanceof WireError) return error.message;
  return trans.__("the widget failed: %1", String(error).split("\n")[0]!);
}

export function refusal(error: unknown): HTMLElement {
  return el(
    "div",
    { class: "autograd-inspector agi-refusal", "data-state": "refused", role: "alert" },
    `autograd_inspector: ${reason(error)}`,
  );
}

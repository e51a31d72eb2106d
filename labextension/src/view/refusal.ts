/** One line in place of the widget, when there is nothing that it can show. */

import { WireError } from "../model/decode";
import { el } from "./dom";

export function refusal(error: unknown): HTMLElement {
  const said =
    error instanceof WireError
      ? error.message
      : `the widget failed: ${String(error).split("\n")[0]}`;
  return el(
    "div",
    { class: "autograd-inspector ag-refusal", "data-state": "refused", role: "alert" },
    `autograd_inspector: ${said}`,
  );
}

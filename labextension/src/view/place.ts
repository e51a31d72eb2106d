/** Where a line stands: a button that goes there, where there is a way. */

import type { Target } from "../state/reveal";
import { trans } from "../words";
import type { Context } from "./context";
import { button, el } from "./dom";

export function placed(context: Context, text: string, target: Target): HTMLElement {
  const title = target.cell ? undefined : target.filename;
  const { reveal } = context;
  if (!reveal?.can(target)) return el("span", { class: "agi-place", title }, text);
  const go = () => told(context, reveal.go(target), trans.__("went to %1", text));
  return button(text, go, {
    class: "agi-link agi-place",
    title,
    "aria-label": trans.__("Go to %1", text),
  });
}

/** What became of a wish: a refusal is for everybody to read, what is done can be seen. */
export function told({ announce }: Context, refusal: string, done: string): void {
  announce(refusal || done, refusal !== "");
}

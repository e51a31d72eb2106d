/** A button that copies text, and says that it did. */

import { trans } from "../words";
import { button } from "./dom";

const SHOWN_FOR = 2000;

/** `named` says what is copied, for a screen reader; `label` is read by the others. */
export function copyButton(
  text: string,
  named: string,
  label = trans.__("Copy"),
): HTMLButtonElement {
  const made = button(label, copy, { class: "agi-copy", "aria-label": named });
  async function copy(): Promise<void> {
    const done = await copied(text);
    made.textContent = done ? trans.__("Copied") : trans.__("Press Ctrl+C");
    setTimeout(() => {
      made.textContent = label;
    }, SHOWN_FOR);
  }
  return made;
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // No permission, or a page without a secure origin.
  }
}

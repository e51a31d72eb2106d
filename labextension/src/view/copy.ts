/** A button that copies text, and says that it did. */

import { button } from "./dom";

const SHOWN_FOR = 2000;

/** `what` is copied, for a screen reader; `label` is read by the others. */
export function copyButton(text: string, what: string, label = "Copy"): HTMLButtonElement {
  const made = button(label, copy, { class: "agi-copy", "aria-label": `Copy ${what}` });
  async function copy(): Promise<void> {
    const done = await copied(text);
    made.textContent = done ? "Copied" : "Press Ctrl+C";
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

/** A button that copies text, and says that it did. */

import { button } from "./dom";

export function copyButton(text: string, what: string): HTMLButtonElement {
  const made = button("Copy", copy, { class: "agi-copy", "aria-label": `Copy ${what}` });
  async function copy(): Promise<void> {
    const done = await copied(text);
    made.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => {
      made.textContent = "Copy";
    }, 2000);
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

/** One line for the user, and for a screen reader: briefly on the page, never in the way. */

import { Notification } from "@jupyterlab/apputils";

const BRIEF = 5_000;
let live: HTMLElement | null = null;

/** Only spoken. */
export function announce(text: string): void {
  if (!live) {
    live = document.createElement("p");
    live.className = "agi-spoken";
    live.setAttribute("role", "status");
    document.body.append(live);
  }
  live.textContent = text;
}

/** Something cannot be done: why. */
export function refuse(why: unknown): void {
  const text = why instanceof Error ? why.message : String(why);
  announce(text);
  Notification.warning(text, { autoClose: BRIEF });
}

/** A button that opens a small box below it; Escape and a click elsewhere close it. */

import { type Child, el } from "./dom";

export function menu(title: Child, classes: string, ...items: Child[]): HTMLDetailsElement {
  const made = el(
    "details",
    { class: `agi-menu ${classes}`.trim() },
    el("summary", { class: "agi-button" }, title),
    el("div", { class: "agi-menu-items" }, ...items),
  );
  const elsewhere = (event: Event) => {
    if (!event.composedPath().includes(made)) made.open = false;
  };
  made.addEventListener("toggle", () => {
    const act = made.open ? "addEventListener" : "removeEventListener";
    made.ownerDocument[act]("pointerdown", elsewhere);
  });
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !made.open) return;
    made.open = false;
    made.querySelector("summary")?.focus();
    event.stopPropagation();
  });
  return made;
}

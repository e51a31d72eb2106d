/** Keys that work wherever the focus is in the widget, but for text fields. */

import type { Context } from "./context";
import type { KeysHelp } from "./keys_help";

export function listenToKeys(context: Context, help: KeysHelp): void {
  const root = context.root();
  root.addEventListener("keydown", (event) => {
    const field = (event.target as Element).closest("input, select, textarea");
    if (field || event.ctrlKey || event.metaKey || event.altKey) return;
    if (pressed(context, help, event.key)) event.preventDefault();
  });
}

/** Whether the key meant something. */
function pressed(context: Context, help: KeysHelp, key: string): boolean {
  switch (key) {
    case "?":
      help.toggle();
      return true;
    case "Escape":
      if (help.panel.hidden) return false;
      help.toggle();
      return true;
    case "/": {
      context.show("Graph");
      context.root().querySelector<HTMLElement>(".agi-search > input")?.focus();
      return true;
    }
    case "[":
    case "]": {
      const { length } = context.capture.data.findings;
      if (length === 0 || context.finding === null) return false;
      context.choose((context.finding + (key === "]" ? 1 : length - 1)) % length, "findings");
      return true;
    }
    default:
      return false;
  }
}

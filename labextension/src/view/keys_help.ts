/** Which keys do what: `?` shows it anywhere in the widget, and so does the button beside the tabs. */

import { button, el } from "./dom";

const KEYS: readonly (readonly [string, string])[] = [
  ["?", "show or hide these keys"],
  ["← ↑ → ↓", "in the graph: go to the next box; in tabs and tools: to the next one"],
  ["Enter", "open or close a box; select a node"],
  ["Space", "select"],
  ["Esc", "close the box around, a menu, these keys"],
  ["+  −  0", "zoom in, zoom out, fit"],
  ["Ctrl + wheel, pinch", "zoom; once the graph has the focus, the wheel alone"],
  ["/", "search"],
  ["[  ]", "previous finding, next finding"],
  ["Alt + F8, Alt + Shift + F8", "in JupyterLab: next marked line, previous marked line"],
  ["Alt + Shift + I", "in JupyterLab: add or remove the magic on top of the cell"],
];

export interface KeysHelp {
  opener: HTMLButtonElement;
  panel: HTMLElement;
  toggle(): void;
}

export function keysHelp(): KeysHelp {
  const panel = el(
    "section",
    { class: "agi-keys", "aria-label": "Keys", hidden: true },
    el("h4", {}, "Keys"),
    el(
      "dl",
      { class: "agi-facts" },
      ...KEYS.flatMap(([keys, what]) => [
        el("dt", {}, ...keys.split("  ").map((key) => el("kbd", {}, key))),
        el("dd", {}, what),
      ]),
    ),
  );
  const toggle = () => {
    panel.hidden = !panel.hidden;
    opener.setAttribute("aria-expanded", String(!panel.hidden));
  };
  const opener = button("?", toggle, {
    class: "agi-keys-opener",
    "aria-label": "Keys",
    "aria-expanded": "false",
    title: "Keys (?)",
  });
  return { opener, panel, toggle };
}

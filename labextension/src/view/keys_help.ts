/** Which keys do what: `?` shows it anywhere in the widget, and so does the button beside the tabs. */

import { trans } from "../words";
import { button, el } from "./dom";

const keys = (): [string, string][] => [
  ["?", trans.__("show or hide these keys")],
  ["← ↑ → ↓", trans.__("in the graph: go to the next box; in tabs and tools: to the next one")],
  [trans.__("Enter"), trans.__("open or close a box; select a node")],
  [trans.__("Space"), trans.__("select")],
  [trans.__("Esc"), trans.__("close the box around, a menu, these keys")],
  ["+  −  0", trans.__("zoom in, zoom out, fit")],
  [
    trans.__("Ctrl + wheel, pinch"),
    trans.__("zoom; once the graph has the focus, the wheel alone"),
  ],
  ["/", trans.__("search")],
  ["[  ]", trans.__("previous finding, next finding")],
  [
    trans.__("Alt + F8, Alt + Shift + F8"),
    trans.__("in JupyterLab: next marked line, previous marked line"),
  ],
  [
    trans.__("Alt + Shift + I"),
    trans.__("in JupyterLab: add or remove the magic on top of the cell"),
  ],
];

export interface KeysHelp {
  opener: HTMLButtonElement;
  panel: HTMLElement;
  toggle(): void;
}

export function keysHelp(): KeysHelp {
  const panel = el(
    "section",
    { class: "agi-keys", "aria-label": trans.__("Keys"), hidden: true },
    el("h4", {}, trans.__("Keys")),
    el(
      "dl",
      { class: "agi-facts" },
      ...keys().flatMap(([pressed, what]) => [
        el("dt", {}, ...pressed.split("  ").map((key) => el("kbd", {}, key))),
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
    "aria-label": trans.__("Keys"),
    "aria-expanded": "false",
    title: trans.__("Keys (?)"),
  });
  return { opener, panel, toggle };
}

/** Tabs as the ARIA pattern has them: arrows, Home and End move, one tab stop. A panel is made when first shown. */

import { trans } from "../words";
import { el, focused } from "./dom";
import { reason } from "./refusal";

export interface Tab<Name extends string> {
  name: Name;
  /** What the tab says. */
  title: string;
  badge?: number;
  /** What stands in the panel; the panel is in the page by then. */
  make(panel: HTMLElement): HTMLElement;
}

/** What a tab shows; one that fails says so, and the others go on. */
function contents<Name extends string>(tab: Tab<Name>, panel: HTMLElement): HTMLElement {
  try {
    return tab.make(panel);
  } catch (error) {
    return el("p", { class: "agi-empty", role: "alert" }, reason(error));
  }
}

/** Told to what stands in a panel when it comes to the front. */
export const SHOWN = "agi-shown";

let count = 0;

export class Tabs<Name extends string> {
  readonly list = el("div", {
    class: "agi-tabs",
    role: "tablist",
    "aria-label": trans.__("Views"),
  });
  readonly panels = el("div", { class: "agi-panels" });
  readonly #buttons: HTMLButtonElement[] = [];
  readonly #hosts: HTMLElement[] = [];
  readonly #made = new Set<number>();
  /** Which one is in front. */
  now?: Name;

  constructor(
    private readonly tabs: Tab<Name>[],
    private readonly shown: (name: Name) => void = () => {},
  ) {
    const id = `agi-tabs-${count++}`;
    tabs.forEach((tab, n) => {
      const button = el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `${id}-tab-${n}`,
          "aria-controls": `${id}-panel-${n}`,
          on: { click: () => this.show(tab.name) },
        },
        tab.title,
        tab.badge
          ? el(
              "span",
              { class: "agi-badge", "aria-hidden": "true" },
              tab.badge.toLocaleString("en"),
            )
          : null,
      );
      this.#buttons.push(button);
      this.#hosts.push(
        el("div", {
          class: "agi-panel",
          role: "tabpanel",
          id: `${id}-panel-${n}`,
          "aria-labelledby": `${id}-tab-${n}`,
          tabindex: "0",
          hidden: true,
        }),
      );
    });
    this.list.append(...this.#buttons);
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.panels.append(...this.#hosts);
  }

  show(name: Name): void {
    const at = this.tabs.findIndex((tab) => tab.name === name);
    const within = this.#hosts.findIndex((host) => host.contains(focused(host)));
    this.#buttons.forEach((button, n) => {
      button.setAttribute("aria-selected", String(n === at));
      button.tabIndex = n === at ? 0 : -1;
      this.#hosts[n]!.hidden = n !== at;
    });
    if (!this.#made.has(at)) {
      this.#made.add(at);
      this.#hosts[at]!.append(contents(this.tabs[at]!, this.#hosts[at]!));
    }
    // The button that led here is hidden now.
    if (within >= 0 && within !== at) this.#hosts[at]!.focus({ preventScroll: true });
    // What was hidden could not scroll to what was selected meanwhile.
    this.#hosts[at]!.firstElementChild?.dispatchEvent(new Event(SHOWN));
    this.now = name;
    this.shown(name);
  }

  #key(event: KeyboardEvent): void {
    const at = this.#buttons.indexOf(event.target as HTMLButtonElement);
    const last = this.#buttons.length - 1;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const n = to < 0 ? last : to > last ? 0 : to;
    this.show(this.tabs[n]!.name);
    this.#buttons[n]!.focus();
  }
}

/** One capture in the list. */

import { button, el } from "../../view/dom";
import { trans } from "../i18n";
import type { Entry } from "../kernel/messages";
import { counts, facts, nameOf, when, whenExactly } from "./words";

/** What a row lets the user do. */
export interface RowActions {
  pick(id: string, beside: boolean): void;
  menu(id: string, x: number, y: number): void;
  rename(id: string, name: string): void;
}

export class EntryRow {
  readonly node: HTMLLIElement;
  private main!: HTMLButtonElement;
  private menu!: HTMLButtonElement;
  private text = "";

  constructor(
    private entry: Entry,
    private readonly actions: RowActions,
  ) {
    this.node = el("li", { class: "agi-capture", "data-capture": entry.id });
    this.node.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      event.stopPropagation();
      this.openMenu(event.clientX, event.clientY);
    });
    this.draw();
  }

  get id(): string {
    return this.entry.id;
  }

  update(entry: Entry): void {
    this.entry = entry;
    if (!this.node.querySelector("input")) this.draw();
  }

  /** Only one row's buttons are stops of the Tab key. */
  stop(on: boolean): void {
    this.main.tabIndex = this.menu.tabIndex = on ? 0 : -1;
  }

  current(on: boolean): void {
    if (on) this.main.setAttribute("aria-current", "true");
    else this.main.removeAttribute("aria-current");
  }

  focus(): void {
    this.main.focus();
  }

  /** Rename in place. */
  edit(): void {
    const input = el("input", {
      class: "agi-input agi-capture-input",
      "aria-label": trans.__("Name of this capture (empty: the cell's name)"),
      placeholder: this.entry.cell || trans.__("capture"),
      maxlength: 200,
    });
    input.value = this.entry.name;
    let done = false;
    const end = (keep: boolean) => {
      if (done) return;
      done = true;
      const focused = this.node.contains(document.activeElement);
      input.remove();
      this.draw(true);
      if (focused) this.focus();
      if (keep && input.value.trim() !== this.entry.name)
        this.actions.rename(this.id, input.value.trim());
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" || event.key === "Escape") end(event.key === "Enter");
    });
    input.addEventListener("blur", () => end(true));
    this.main.replaceWith(input);
    input.focus();
    input.select();
  }

  private openMenu(x = 0, y = 0): void {
    const { left, bottom } = this.menu.getBoundingClientRect();
    // The menu key has no place of its own.
    this.actions.menu(this.id, x || left, y || bottom);
  }

  private draw(always = false): void {
    const { entry } = this;
    const text = JSON.stringify({ ...entry, marks: null, day: when(entry.created) });
    if (text === this.text && !always) return;
    this.text = text;
    const [stop, current] = [this.main?.tabIndex ?? -1, this.main?.getAttribute("aria-current")];
    const focused = document.activeElement;
    const had = focused === this.main ? "main" : focused === this.menu ? "menu" : "";
    this.main = this.body();
    this.menu = button("⋯", () => this.openMenu(), {
      class: "agi-capture-menu",
      "aria-label": trans.__("Actions for %1", nameOf(entry)),
      "aria-haspopup": "menu",
      title: trans.__("More actions"),
    });
    this.node.replaceChildren(this.main, this.menu);
    this.node.dataset.worst = counts(entry)[0]!.severity;
    this.main.tabIndex = this.menu.tabIndex = stop;
    this.current(current === "true");
    if (had) this[had as "main" | "menu"].focus();
  }

  private body(): HTMLButtonElement {
    const { entry } = this;
    const code = entry.first_line || entry.headline;
    const text = entry.error ? trans.__("raised %1", entry.error) : facts(entry);
    const name = nameOf(entry);
    const pick = (event: Event) => {
      const { ctrlKey, metaKey } = event as MouseEvent;
      this.actions.pick(this.id, ctrlKey || metaKey);
    };
    const made = button(null, pick, { class: "agi-capture-main" });
    made.append(
      el(
        "span",
        { class: "agi-capture-head" },
        entry.pinned &&
          el("span", {
            class: "agi-capture-pin",
            role: "img",
            "aria-label": trans.__("pinned"),
            title: trans.__("Pinned"),
          }),
        el("strong", { class: "agi-capture-name", title: name }, name),
        el("span", { class: "agi-capture-counts" }, ...counts(entry).map(chip)),
        el(
          "span",
          { class: "agi-capture-when", title: whenExactly(entry.created) },
          when(entry.created),
        ),
      ),
      el("code", { class: "agi-capture-code", title: code }, code),
      el("span", { class: "agi-capture-facts", title: facts(entry) }, facts(entry)),
    );
    if (entry.released) {
      const released = trans.__("released to free memory; run the cell again");
      made.append(el("span", { class: "agi-capture-facts", title: released }, released));
    }
    if (entry.error)
      made.append(el("span", { class: "agi-capture-facts agi-alarm", title: text }, text));
    return made;
  }
}

function chip({ severity, sign, text }: ReturnType<typeof counts>[number]): HTMLElement {
  return el(
    "span",
    { class: `agi-chip agi-${severity}`, title: text },
    el("span", { "aria-hidden": "true" }, sign),
    el("span", { class: "agi-unseen" }, text),
  );
}

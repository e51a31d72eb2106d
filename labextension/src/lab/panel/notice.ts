/** One line above the list: what is under way, what failed, what is to be chosen. Read out when it changes. */

import { button, el, fill } from "../../view/dom";
import { trans } from "../i18n";

/** Milliseconds that something may take without a word. */
const SOON = 500;

export class Notice {
  readonly node = el("div", { class: "agi-notice", role: "status", hidden: true });
  private nth = 0;

  /** Until it is replaced; `stop` is what a button beside it does. */
  announce(text: string, stop?: { label: string; run(): void }): void {
    this.nth += 1;
    this.put(text, "", stop);
  }

  fail(text: string): void {
    this.nth += 1;
    this.put(text, "agi-alarm", { label: trans.__("Dismiss"), run: () => this.clear() });
  }

  clear(): void {
    this.nth += 1;
    this.node.hidden = true;
    fill(this.node);
  }

  /** Runs something, with what it is at after half a second; rejects nothing: a failure is shown. */
  async during<T>(
    text: string,
    work: (at: (text: string) => void) => Promise<T>,
  ): Promise<T | null> {
    const mine = ++this.nth;
    let progress = text;
    let late = false;
    const tell = () => {
      if (late && mine === this.nth) this.put(`${progress} …`, "agi-working");
    };
    const timer = setTimeout(() => {
      late = true;
      tell();
    }, SOON);
    try {
      const made = await work((at) => {
        progress = at;
        tell();
      });
      if (mine === this.nth) this.clear();
      return made;
    } catch (error) {
      this.fail((error as Error).message);
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  private put(text: string, kind: string, stop?: { label: string; run(): void }): void {
    this.node.className = `agi-notice ${kind}`.trim();
    const end = stop && button(stop.label, () => stop.run());
    fill(this.node, el("span", { class: "agi-notice-text" }, text), end);
    this.node.hidden = false;
  }
}

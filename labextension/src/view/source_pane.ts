/** The lines of the program that ran, in the order of the file; those that have run, and the one that runs. */

import type { Capture, Frame } from "../model/capture";
import type { Moment } from "../model/moments";
import { trans } from "../words";
import { button, el } from "./dom";

interface Line {
  frame: Frame;
  first: number;
  row: HTMLElement;
}

export class SourcePane {
  readonly host = el("div", {
    class: "agi-code",
    tabindex: "0",
    role: "group",
    "aria-label": trans.__("Source"),
  });
  readonly #lines = new Map<string, Line>();
  #current: HTMLElement | null = null;

  constructor(capture: Capture, moments: Moment[], jump: (moment: number) => void) {
    const files = new Map<string, Map<number, { frame: Frame; first: number; count: number }>>();
    moments.forEach((moment, n) => {
      const frame = capture.place(moment.site);
      if (!frame) return;
      const name = frame.cell || frame.filename;
      const lines = files.get(name) ?? new Map();
      files.set(name, lines);
      const line = lines.get(frame.line);
      if (line) line.count += 1;
      else lines.set(frame.line, { frame, first: n, count: 1 });
    });
    for (const [name, lines] of files) {
      const rows = [...lines.values()].sort((a, b) => a.frame.line - b.frame.line);
      const list = el("ol", {});
      let before = 0;
      for (const { frame, first, count } of rows) {
        if (before && frame.line > before + 1) list.append(el("li", { class: "agi-gap" }, "⋯"));
        before = frame.line;
        const times = count > 1 ? el("span", { class: "agi-quiet" }, ` ×${count}`) : null;
        const row = el(
          "li",
          {},
          el("span", { class: "agi-gutter" }, frame.line),
          button(frame.source || trans.__("(no source)"), () => jump(first), {
            class: "agi-code-line",
          }),
          times,
        );
        list.append(row);
        this.#lines.set(place(frame), { frame, first, row });
      }
      const short = name.replaceAll("\\", "/").split("/").pop() ?? name;
      this.host.append(el("h4", { title: name }, short), list);
    }
  }

  /** The moment that runs now. */
  at(capture: Capture, moments: Moment[], now: number): void {
    this.#current?.classList.remove("agi-now");
    for (const line of this.#lines.values()) {
      line.row.classList.toggle("agi-later", line.first > now);
    }
    const frame = now >= 0 && now < moments.length ? capture.place(moments[now]!.site) : undefined;
    const line = frame && this.#lines.get(place(frame));
    this.#current = line?.row ?? null;
    this.#current?.classList.add("agi-now");
    this.#current?.scrollIntoView?.({ block: "nearest" });
  }
}

function place(frame: Frame): string {
  return `${frame.cell || frame.filename}:${frame.line}`;
}

/**
 * Above the list while an inspected cell runs: how far it is, what is certain to be wrong already, and a button that
 * ends the recording, not the cell.
 */

import { button, el, fill, prose } from "../../view/dom";
import { announce } from "../announce";
import { shape } from "../editor/marks_dom";
import { placeOf } from "../editor/marks_of";
import { revealMark } from "../editor/reveal_mark";
import { trans } from "../i18n";
import type { Client } from "../kernel/client";
import type { Clients } from "../kernel/clients";
import type { Mark } from "../kernel/messages";
import { inWords } from "./live_words";

export class LiveRow {
  readonly node = el("div", { class: "agi-live", hidden: true });
  private client: Client | null = null;
  private readonly text = el("span", { class: "agi-live-text" });
  private readonly end: HTMLButtonElement;
  private readonly list = el("ul", { class: "agi-live-findings" });
  /** What the list shows. */
  private told = "[]";

  constructor(
    private readonly clients: Clients,
    stop: () => void,
  ) {
    this.end = button(trans.__("Stop recording"), stop);
    this.node.append(this.text, this.end, this.list);
    clients.changed.connect(this.follow, this);
    this.follow();
  }

  private follow(): void {
    const { current } = this.clients;
    if (current === this.client) return;
    this.client?.live.changed.disconnect(this.draw, this);
    this.client = current;
    current?.live.changed.connect(this.draw, this);
    this.draw();
  }

  private draw(): void {
    const live = this.client?.live.now ?? null;
    this.node.hidden = live === null;
    this.end.hidden = !live || live.stopped;
    if (live) fill(this.text, inWords(live));
    this.list_(live?.marks ?? []);
  }

  /** Drawn again only when there is another: a line that has the focus keeps it. */
  private list_(marks: readonly Mark[]): void {
    const told = JSON.stringify(marks);
    if (told === this.told) return;
    this.told = told;
    fill(this.list, ...marks.map(rowOf));
    if (marks.length) announce(marks.map((mark) => `${mark.rule}: ${mark.message}`).join("; "));
  }
}

function rowOf(mark: Mark): HTMLElement {
  const { cell, cell_id: cellId, path = "", source = "" } = mark;
  const place = path ? placeOf(mark) : trans.__("%1, line %2", cell, mark.line);
  const go = (event: Event) => revealMark(mark, event.target!);
  return el(
    "li",
    {},
    shape(mark.severity),
    el("b", { title: mark.name }, mark.rule),
    cellId || path ? button(place, go, { class: "agi-goto" }) : el("span", {}, place),
    source && el("code", {}, source),
    el("p", {}, prose(mark.message)),
  );
}

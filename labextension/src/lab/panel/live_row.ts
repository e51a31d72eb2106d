/** Above the list while an inspected cell runs: how far it is, and a button that ends the recording, not the cell. */

import { seconds } from "../../model/shown";
import { button, el, fill } from "../../view/dom";
import { trans } from "../i18n";
import type { Client } from "../kernel/client";
import type { Clients } from "../kernel/clients";
import type { Live } from "../kernel/messages";

export class LiveRow {
  readonly node = el("div", { class: "agi-live", hidden: true });
  private client: Client | null = null;

  constructor(
    private readonly clients: Clients,
    private readonly stop: () => void,
  ) {
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
    if (!live) return;
    const end = !live.stopped && button(trans().__("Stop recording"), this.stop);
    // The button stays the same element, so that its focus is not lost each second.
    const there = this.node.querySelector("button");
    const text = el("span", { class: "agi-live-text" }, inWords(live));
    if (there && end) this.node.querySelector(".agi-live-text")!.replaceWith(text);
    else fill(this.node, text, end);
  }
}

/** "In [3] runs: 12 steps, 3,400 ops, 4.1 s". */
export function inWords(live: Live): string {
  const t = trans();
  const cell = live.cell || t.__("A cell");
  if (live.stopped) {
    return t.__("%1 runs, and is recorded no more: the report comes when it ends.", cell);
  }
  const steps = t._n("%1 step", "%1 steps", live.steps);
  const ops = t.__("%1 ops", live.ops.toLocaleString("en"));
  const parts = [live.steps > 0 && steps, ops, seconds(live.seconds)].filter(Boolean);
  return t.__("%1 runs: %2", cell, parts.join(", "));
}

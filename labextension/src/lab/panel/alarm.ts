/** Opens the panel when a new capture has an error. */

import { type IClient, type IInspector, PANEL_ID } from "../api";

/** Seconds: what a kernel had long before it was met is no news. */
const RECENT = 10;

export class Alarm {
  on = false;
  /** When the newest capture seen was made. */
  private readonly seen = new WeakMap<IClient, number>();

  constructor(private readonly inspector: IInspector) {
    inspector.changed.connect(this.look, this);
  }

  /** Whoever types in the notebook goes on typing there. */
  private async open(capture: string): Promise<void> {
    const typing = document.activeElement;
    const shown = this.inspector.show(capture);
    // The panel takes the focus when it comes to the front, in a frame of its own; later it is the user who moves it.
    requestAnimationFrame(() => requestAnimationFrame(() => giveBack(typing)));
    await shown;
  }

  private look(): void {
    const client = this.inspector.current;
    // Before the kernel told anything, nothing is known of what it has.
    if (!client?.settings) return;
    const entry = client.entries[0];
    const last = this.seen.get(client) ?? Date.now() / 1000 - RECENT;
    this.seen.set(client, entry?.created ?? 0);
    if (this.on && entry && entry.created > last && entry.errors > 0) void this.open(entry.id);
  }
}

function giveBack(typing: Element | null): void {
  const now = document.activeElement;
  const taken = now === document.body || document.getElementById(PANEL_ID)?.contains(now);
  if (taken && typing instanceof HTMLElement) typing.focus({ preventScroll: true });
}

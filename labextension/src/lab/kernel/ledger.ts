/** The list of one kernel, as told message by message. */

import type { Inspecting } from "../api";
import type { Changed, Entry, Listing, Removed, Settings } from "./messages";

export type HubMessage = Changed | Removed | Settings;

/** Every message carries the next revision; after a gap only a whole list is right again. */
export class Ledger {
  /** Newest first. */
  entries: readonly Entry[] = [];
  settings: Inspecting | null = null;
  private revision = Number.NEGATIVE_INFINITY;
  /** Heard while a list was on its way. */
  private early: HubMessage[] = [];

  /** Begin from a list. Returns whether what was heard since follows without a gap. */
  begin(listing: Listing): boolean {
    this.entries = listing.captures;
    this.settings = inspecting(listing);
    this.revision = listing.revision;
    const heard = this.early.sort((a, b) => a.revision - b.revision);
    this.early = [];
    return heard.every((message) => this.take(message));
  }

  /** Returns false when messages were missed: a list is needed. */
  take(message: HubMessage): boolean {
    if (message.revision <= this.revision) return true;
    if (message.revision > this.revision + 1) {
      this.early.push(message);
      return false;
    }
    this.revision = message.revision;
    if (message.type === "settings") this.settings = inspecting(message);
    else if (message.type === "removed") {
      const gone = new Set(message.ids);
      this.entries = this.entries.filter((entry) => !gone.has(entry.id));
    } else this.put(message.entry);
    return true;
  }

  clear(): void {
    this.entries = [];
    this.settings = null;
    this.revision = Number.NEGATIVE_INFINITY;
    this.early = [];
  }

  private put(entry: Entry): void {
    const listed = this.entries.some((one) => one.id === entry.id);
    this.entries = listed
      ? this.entries.map((one) => (one.id === entry.id ? entry : one))
      : [entry, ...this.entries];
  }
}

function inspecting({ every, keep, values }: Inspecting): Inspecting {
  return { every, keep, values };
}

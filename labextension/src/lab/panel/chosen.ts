/** What the user chose to see. */

import { trans } from "../i18n";
import type { Client } from "../kernel/client";
import { nameOf } from "./words";

/** One capture, or two compared. */
export interface Chosen {
  client: Client;
  captures: string[];
}

export function isSame(one: Chosen | null, other: Chosen): boolean {
  return one?.client === other.client && one.captures.join() === other.captures.join();
}

export function nameOfChosen({ client, captures }: Chosen): string {
  const named = captures.map((id) => client.entries.find((entry) => entry.id === id));
  return named.map((entry) => (entry ? nameOf(entry) : trans.__("a capture"))).join(" → ");
}

/** The older one first: it is what the newer is compared with. */
export function inOrder(client: Client | null, captures: string[]): string[] {
  const order = client?.entries.map((entry) => entry.id) ?? [];
  return [...captures].sort((a, b) => order.indexOf(b) - order.indexOf(a));
}

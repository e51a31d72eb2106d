/** The lines of a finding in the order in which they ran: saved here, modified here, needed here. */

import type { Place } from "../wire";

export interface Scene {
  place: Place;
  callers: Place[];
}

const CALLER = /^called from/;
const FIRST = /^(saved|kept|alias made|optimizer made) here/;
const LAST = /^(needed here|backward|step\(\))|uses the sum/;

/** The wire has the culprit first; who called a line follows it. */
export function scenes(places: Place[]): Scene[] {
  const found: Scene[] = [];
  for (const place of places) {
    if (CALLER.test(place.role ?? "") && found.length) found.at(-1)!.callers.push(place);
    else found.push({ place, callers: [] });
  }
  const rank = ({ place: { role = "" } }: Scene) =>
    FIRST.test(role) ? 0 : LAST.test(role) ? 2 : 1;
  return found.sort((a, b) => rank(a) - rank(b));
}

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
  const sceneList: Scene[] = [];
  for (const place of places) {
    if (CALLER.test(place.role ?? "") && sceneList.length) sceneList.at(-1)!.callers.push(place);
    else sceneList.push({ place, callers: [] });
  }
  const rank = ({ place: { role = "" } }: Scene) =>
    FIRST.test(role) ? 0 : LAST.test(role) ? 2 : 1;
  return sceneList.sort((a, b) => rank(a) - rank(b));
}

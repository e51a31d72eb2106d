/** The place after (1) or before (-1) where one is; past the last comes the first. Places are in order. */
export function nextIndex(
  places: readonly (readonly [number, number])[],
  [cell, line]: readonly [number, number],
  way: 1 | -1,
): number {
  const beyond = ([c, l]: readonly [number, number]) => ((c - cell || l - line) > 0 ? 1 : -1);
  const same = ([c, l]: readonly [number, number]) => c === cell && l === line;
  const ahead = (place: readonly [number, number]) => !same(place) && beyond(place) === way;
  if (way === 1) return Math.max(0, places.findIndex(ahead));
  for (let n = places.length - 1; n >= 0; n--) if (ahead(places[n]!)) return n;
  return places.length - 1;
}

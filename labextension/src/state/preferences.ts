/** What the host's settings ask of every widget, as attributes of the page's root element. */

export const DEPTH = "data-autograd-inspector-depth";
export const COLOURS = "data-autograd-inspector-colours";

/** How deep a graph is open at first; 0: chosen by the size of the graph. */
export function preferredDepth(): number {
  const depth = Number(document.documentElement.getAttribute(DEPTH));
  return Number.isInteger(depth) && depth > 0 ? depth : 0;
}

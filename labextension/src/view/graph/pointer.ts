/** Mouse, pen and finger: drag to pan, wheel or two fingers to zoom, click to choose or to open. */

import type { Camera } from "./camera";

const SLIP = 4;

export interface Hits {
  /** The box under the pointer, null for the background. */
  pick(item: number | null): void;
  toggle(item: number): void;
  /** What is painted at a point, where elements cannot tell. */
  at(x: number, y: number): { item: number; toggle: boolean } | null;
  engaged(): boolean;
}

export function listen(view: HTMLElement, camera: Camera, hits: Hits): void {
  const down = new Map<number, Point>();
  let moved = 0;
  let dragged = false;
  let stood = { x: 0, y: 0 };
  view.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size === 0) {
      moved = 0;
      stood = { x: camera.x, y: camera.y };
    }
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  view.addEventListener("pointermove", (event) => {
    const from = down.get(event.pointerId);
    if (!from || event.buttons !== 1) return;
    const to = { x: event.clientX, y: event.clientY };
    moved += Math.abs(to.x - from.x) + Math.abs(to.y - from.y);
    if (moved <= SLIP) return;
    view.setPointerCapture?.(event.pointerId);
    const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    if (other) pinch(view, camera, other, from, to);
    else camera.pan(to.x - from.x, to.y - from.y);
    down.set(event.pointerId, to);
  });
  const up = (event: PointerEvent) => {
    dragged = moved > SLIP;
    down.delete(event.pointerId);
  };
  view.addEventListener("pointerup", up);
  view.addEventListener("pointercancel", (event) => {
    // The browser took the finger to scroll the page: it was not meant for the picture.
    if (down.size === 1) camera.pan(stood.x - camera.x, stood.y - camera.y);
    up(event);
  });
  view.addEventListener("click", (event) => {
    if (dragged) return;
    const hit = hitOf(event, view, hits);
    if (hit?.toggle) hits.toggle(hit.item);
    else hits.pick(hit ? hit.item : null);
  });
  view.addEventListener("dblclick", (event) => {
    const hit = hitOf(event, view, hits);
    if (hit && !hit.toggle) hits.toggle(hit.item);
  });
  view.addEventListener(
    "wheel",
    (event) => {
      // A page that scrolls past the graph must not get stuck on it.
      if (!event.ctrlKey && !event.metaKey && !hits.engaged()) return;
      event.preventDefault();
      const box = view.getBoundingClientRect();
      const step = event.deltaMode === 1 ? 16 : 1;
      camera.zoom(
        Math.exp(-event.deltaY * step * 0.002),
        event.clientX - box.left,
        event.clientY - box.top,
      );
    },
    { passive: false },
  );
}

interface Point {
  x: number;
  y: number;
}

/** One of two fingers went from one point to another: what lay between them stays there. */
function pinch(view: HTMLElement, camera: Camera, other: Point, from: Point, to: Point): void {
  const apart = (point: Point) => Math.max(Math.hypot(point.x - other.x, point.y - other.y), 1);
  const box = view.getBoundingClientRect();
  camera.pan((to.x - from.x) / 2, (to.y - from.y) / 2);
  camera.zoom(
    apart(to) / apart(from),
    (to.x + other.x) / 2 - box.left,
    (to.y + other.y) / 2 - box.top,
  );
}

function hitOf(
  event: MouseEvent,
  view: HTMLElement,
  hits: Hits,
): { item: number; toggle: boolean } | null {
  const target = event.target as Element;
  const item = target.closest("[data-item]");
  if (item) {
    return {
      item: Number(item.getAttribute("data-item")),
      toggle: target.closest(".agi-toggle") !== null,
    };
  }
  const box = view.getBoundingClientRect();
  return hits.at(event.clientX - box.left, event.clientY - box.top);
}

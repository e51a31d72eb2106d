/** Mouse, pen and finger: drag to pan, wheel to zoom, click to choose or to open. */

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
  let last: { x: number; y: number; moved: number } | null = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button === 0) last = { x: event.clientX, y: event.clientY, moved: 0 };
  });
  view.addEventListener("pointermove", (event) => {
    if (!last || event.buttons !== 1) return;
    const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
    const moved = last.moved + Math.abs(dx) + Math.abs(dy);
    if (moved > SLIP) {
      view.setPointerCapture?.(event.pointerId);
      camera.pan(dx, dy);
      last = { x: event.clientX, y: event.clientY, moved };
    }
  });
  view.addEventListener("pointerup", () => {
    dragged = (last?.moved ?? 0) > SLIP;
    last = null;
  });
  let dragged = false;
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

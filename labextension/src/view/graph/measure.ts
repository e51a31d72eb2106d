/** Widths of texts in the host's own font. */

import { type Measure, roughly } from "../../layout/text";

export const FONT = { title: "600 12.5px", small: "11px" };

/** jsdom has no canvas, and says so loudly. */
export function penOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  return /jsdom/.test(navigator.userAgent) ? null : canvas.getContext("2d");
}

export function measureIn(host: HTMLElement): Measure {
  const pen = penOf(document.createElement("canvas"));
  if (!pen) return roughly;
  const family = getComputedStyle(host).fontFamily || "sans-serif";
  const known = { title: new Map<string, number>(), small: new Map<string, number>() };
  let current = "";
  return (text, role) => {
    let width = known[role].get(text);
    if (width === undefined) {
      if (current !== role) pen.font = `${FONT[role]} ${family}`;
      current = role;
      width = Math.ceil(pen.measureText(text).width + 1);
      known[role].set(text, width);
    }
    return width;
  };
}

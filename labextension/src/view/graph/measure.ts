/** Widths of texts in the host's own font. */

import { type Measure, roughly } from "../../layout/text";

const FALLBACK = "system-ui, sans-serif";
export const FONT = { title: "600 12.5px", small: "11px" };

/** jsdom has no canvas, and says so loudly. */
export function penOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  return /jsdom/.test(navigator.userAgent) ? null : canvas.getContext("2d");
}

export function measureIn(host: HTMLElement): Measure {
  const pen = penOf(document.createElement("canvas"));
  if (!pen) return roughly;
  const family = familyIn(host);
  const widths = { title: new Map<string, number>(), small: new Map<string, number>() };
  let current = "";
  return (text, role) => {
    let width = widths[role].get(text);
    if (width === undefined) {
      if (current !== role) pen.font = `${FONT[role]} ${family}`;
      current = role;
      width = Math.ceil(pen.measureText(text).width + 1);
      widths[role].set(text, width);
    }
    return width;
  };
}

/** The font of the picture, asked of the page itself as long as the picture is not part of it. */
function familyIn(host: HTMLElement): string {
  if (host.isConnected) return getComputedStyle(host).fontFamily || FALLBACK;
  const probe = document.createElement("span");
  probe.style.fontFamily = `var(--jp-ui-font-family, var(--vscode-font-family, ${FALLBACK}))`;
  document.body.append(probe);
  const family = getComputedStyle(probe).fontFamily;
  probe.remove();
  return family || FALLBACK;
}

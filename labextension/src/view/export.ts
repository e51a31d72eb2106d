/** Taking the picture and the capture away: as files that the browser saves. */

import { button, el } from "./dom";
import { menu } from "./menu";

export type Format = "svg" | "png" | "dot" | "json" | "html";
const TYPES: Record<Format, string> = {
  svg: "image/svg+xml",
  png: "image/png",
  dot: "text/vnd.graphviz",
  json: "application/json",
  html: "text/html",
};

export interface Exports {
  /** The picture as it stands. */
  svg(): string;
  /** What only Python makes; null where there is no Python to ask. */
  ask: ((format: "dot" | "json" | "html") => Promise<string>) | null;
  announce(text: string): void;
}

export function exportMenu(exports: Exports): HTMLElement {
  const formats: Format[] = exports.ask ? ["svg", "png", "dot", "json", "html"] : ["svg", "png"];
  const items = formats.map((format) => button(format.toUpperCase(), () => take(format)));
  const opened = menu("Export", "", ...items);
  async function take(format: Format): Promise<void> {
    opened.open = false;
    try {
      save(await made(format, exports), `autograd.${format}`);
      exports.announce(`exported autograd.${format}`);
    } catch (error) {
      exports.announce(`no ${format.toUpperCase()}: ${(error as Error).message}`);
    }
  }
  return opened;
}

async function made(format: Format, exports: Exports): Promise<Blob> {
  if (format === "svg") return new Blob([exports.svg()], { type: TYPES.svg });
  if (format === "png") return png(exports.svg());
  return new Blob([await exports.ask!(format)], { type: TYPES[format] });
}

/** Draws the SVG on a canvas, twice as large as on the page, at most 8,000 pixels wide. */
async function png(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, 8000 / Math.max(image.width, image.height, 1));
  const canvas = el("canvas", {
    width: Math.ceil(image.width * scale),
    height: Math.ceil(image.height * scale),
  });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))));
  });
}

export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

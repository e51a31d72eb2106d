/** Taking the picture and the capture away: as files that the browser saves. */

import { trans } from "../words";
import { button, el } from "./dom";
import { menu } from "./menu";

/** Formats that are text, and not the picture. */
export type TextFormat = "dot" | "json" | "html" | "csv";
type Format<Text extends TextFormat> = "svg" | "png" | Text;
const TYPES: Record<Format<TextFormat>, string> = {
  svg: "image/svg+xml",
  png: "image/png",
  dot: "text/vnd.graphviz",
  json: "application/json",
  html: "text/html",
  csv: "text/csv",
};

export interface Exports<Text extends TextFormat> {
  /** Of the file, without its ending. */
  name: string;
  /** The picture as it stands. */
  svg(): string;
  texts: readonly Text[];
  text(format: Text): Promise<string>;
  announce(text: string, seen: boolean): void;
}

export function exportMenu<Text extends TextFormat>(exports: Exports<Text>): HTMLElement {
  const formats: Format<Text>[] = ["svg", "png", ...exports.texts];
  const items = formats.map((format) => button(format.toUpperCase(), () => take(format)));
  const opened = menu(trans.__("Export"), "", ...items);
  async function take(format: Format<Text>): Promise<void> {
    opened.open = false;
    const file = `${exports.name}.${format}`;
    // Who makes it may be busy, or gone.
    exports.announce(trans.__("making %1 …", file), true);
    try {
      save(await made(format, exports), file);
      exports.announce(trans.__("exported %1", file), true);
    } catch (error) {
      const why = (error as Error).message;
      exports.announce(trans.__("no %1: %2", format.toUpperCase(), why), true);
    }
  }
  return opened;
}

async function made<Text extends TextFormat>(
  format: Format<Text>,
  exports: Exports<Text>,
): Promise<Blob> {
  if (format === "svg") return new Blob([exports.svg()], { type: TYPES.svg });
  if (format === "png") return png(exports.svg());
  return new Blob([await exports.text(format)], { type: TYPES[format] });
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
    canvas.toBlob((blob) =>
      blob ? resolve(blob) : reject(new Error(trans.__("the picture is too large"))),
    );
  });
}

export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

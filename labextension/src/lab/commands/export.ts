/** A capture as a file that the browser saves. */

import { InputDialog } from "@jupyterlab/apputils";
import { save } from "../../view/export";
import { announce } from "../announce";
import type { IClient } from "../api";
import { trans } from "../i18n";
import type { Entry } from "../kernel/messages";
import { nameOf } from "../panel/words";

export const FORMATS = {
  html: { label: "HTML", type: "text/html", ending: "html" },
  json: { label: "JSON", type: "application/json", ending: "json" },
  dot: { label: "Graphviz DOT", type: "text/vnd.graphviz", ending: "dot" },
  text: { label: "Text", type: "text/plain", ending: "txt" },
} as const;
export type ExportFormat = keyof typeof FORMATS;
const KNOWN = Object.keys(FORMATS) as ExportFormat[];

/** Of the command's arguments, whatever they are: the format, null for one that is asked for. */
export function formatOf(wanted: unknown): ExportFormat | null {
  return KNOWN.find((format) => format === wanted) ?? null;
}

/** Rejects with one line to show. */
export async function exportCapture(
  client: IClient,
  entry: Entry,
  wanted: ExportFormat | null,
): Promise<void> {
  const format = wanted ?? (await chosen());
  if (!format) return;
  const { text } = await client.ask({ action: "export", captures: [entry.id], format });
  const { type, ending } = FORMATS[format];
  const name = `${fileName(entry)}.${ending}`;
  save(new Blob([text ?? ""], { type }), name);
  announce(trans.__("Exported %1", name));
}

async function chosen(): Promise<ExportFormat | null> {
  const { button, value } = await InputDialog.getItem({
    title: trans.__("Export a capture as"),
    items: KNOWN.map((format) => FORMATS[format].label),
  });
  return button.accept ? (KNOWN.find((format) => FORMATS[format].label === value) ?? null) : null;
}

/** Of letters that every system takes. */
function fileName(entry: Entry): string {
  const plain = nameOf(entry).replace(/[^\p{L}\p{N}._-]+/gu, "-");
  return `autograd-${plain.replace(/^[-.]+|[-.]+$/g, "").slice(0, 60) || "capture"}`;
}

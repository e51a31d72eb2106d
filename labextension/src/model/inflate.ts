/** What a notebook file keeps of a capture -> its tables. The file is data of others: it may be anything. */

import { trans } from "../words";
import { checkVersion, type Data, decode, decoded, WireError } from "./decode";

/** Bytes that a text may become: deflate makes a thousand of one, and a page has not that much to spare. */
const MOST = 64e6;
const LINE_BREAK = 10;

/** Throws a WireError. That of an earlier release is the wire itself. */
export async function opened(kept: unknown): Promise<Data> {
  if (typeof kept !== "object" || kept === null || !("text" in kept)) return decoded(kept);
  const { wire, text } = kept as { wire?: unknown; text: unknown };
  checkVersion(wire);
  const bytes = await inflated(text);
  const end = bytes.indexOf(LINE_BREAK);
  if (end < 0) throw damaged();
  const buffer = new DataView(bytes.buffer, end + 1, bytes.length - end - 1);
  return decode(new TextDecoder().decode(bytes.subarray(0, end)), buffer);
}

const damaged = (): WireError => new WireError(trans.__("this capture is damaged: %1", "text"));

async function inflated(text: unknown): Promise<Uint8Array> {
  if (!globalThis.DecompressionStream) {
    throw new WireError(
      trans.__("this browser cannot read saved captures: update it, or run the cell again"),
    );
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    const packed = Uint8Array.from(atob(String(text)), (char) => char.charCodeAt(0));
    const { readable, writable } = new DecompressionStream("deflate");
    const writer = writable.getWriter();
    // What is wrong with them is said by the reader, too.
    writer.write(packed).catch(() => {});
    writer.close().catch(() => {});
    const reader = readable.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      size += part.value.length;
      if (size > MOST) throw damaged();
    }
  } catch {
    throw damaged();
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

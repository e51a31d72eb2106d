/** Captures written by scripts/wire_fixtures.py. */

import { Capture } from "../src/model/capture";
import { decode } from "../src/model/decode";
import attached from "./fixtures/attached.json";
import broken from "./fixtures/broken.json";
import detached from "./fixtures/detached.json";
import packed from "./fixtures/packed.json";
import rank0 from "./fixtures/rank0.json";
import ranks from "./fixtures/ranks.json";
import short from "./fixtures/short.json";
import vitals from "./fixtures/vitals.json";

const CAPTURES = { attached, broken, detached, packed, rank0, ranks, short, vitals };
export type Name = keyof typeof CAPTURES;

export function payload(name: Name): { text: string; buffer: DataView } {
  const { text, buffer } = CAPTURES[name];
  const bytes = Uint8Array.from(atob(buffer), (c) => c.charCodeAt(0));
  return { text, buffer: new DataView(bytes.buffer) };
}

export function capture(name: Name): Capture {
  const { text, buffer } = payload(name);
  return new Capture(decode(text, buffer));
}

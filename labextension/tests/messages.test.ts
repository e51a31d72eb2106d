/// <reference types="vite/client" />
/** Messages as tools that collect them for translators need them. */

import { expect, test } from "vitest";

const sources = import.meta.glob<string>("../src/**/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});
const files = Object.entries(sources).filter(([file]) => !file.endsWith("src/words.ts"));
const code = files.map(([, text]) => text).join("\n");
const found = (query: RegExp) => [...code.matchAll(query)].map((one) => one[1]!);
const LITERAL = `\\s*("(?:[^"\\\\]|\\\\.)*")`;

test("every message is a literal where it is asked for", () => {
  const asked = found(/trans\.(__|_n)\(/g);
  const alone = found(new RegExp(`trans\\.__\\(${LITERAL}`, "g"));
  const counted = found(new RegExp(`trans\\._n\\(${LITERAL},${LITERAL}`, "g"));
  expect(alone.length).toBeGreaterThan(300);
  expect(alone.length + counted.length).toBe(asked.length);
});

test("no message stands there twice, for the number of its gap alone", () => {
  const asked = [...found(new RegExp(`trans\\.__\\(${LITERAL}`, "g"))];
  asked.push(...found(new RegExp(`trans\\._n\\(${LITERAL}`, "g")));
  const first = new Map<string, string>();
  for (const text of new Set(asked)) {
    const shape = text.replace(/%\d/g, "%");
    expect([text, first.get(shape)]).toEqual([text, undefined]);
    first.set(shape, text);
  }
});

test("no message is counted in one place, and not in another", () => {
  // JupyterLab then takes it for untranslated in one of them.
  const alone = new Set(found(new RegExp(`trans\\.__\\(${LITERAL}`, "g")));
  const counted = found(new RegExp(`trans\\._n\\(${LITERAL}`, "g"));
  expect(counted.filter((text) => alone.has(text))).toEqual([]);
});

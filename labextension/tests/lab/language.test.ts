import { nullTranslator, type TranslationBundle } from "@jupyterlab/translation";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { IClient, State } from "../../src/lab/api";
import { speak } from "../../src/lab/i18n";
import { mismatch } from "../../src/lab/kernel/versions";
import { emptyState } from "../../src/lab/panel/empty_state";
import { EntryList } from "../../src/lab/panel/entry_list";
import { Notice } from "../../src/lab/panel/notice";
import { Shown } from "../../src/lab/panel/shown";
import { facts } from "../../src/lab/panel/words";
import { el } from "../../src/view/dom";
import { entry } from "./fake_kernel";

// Lumino asks for it when it is imported, and jsdom has none.
vi.hoisted(() => {
  globalThis.DragEvent ??= class extends MouseEvent {} as typeof DragEvent;
});

/** A language in which every sentence stands in brackets: what has none was not translated. */
const plain = nullTranslator.load("");
const brackets = {
  ...plain,
  __: (text: string, ...given: string[]) => `⟦${plain.__(text, ...given)}⟧`,
  _n: (one: string, many: string, n: number, ...given: string[]) =>
    `⟦${plain._n(one, many, n, ...given)}⟧`,
} as TranslationBundle;

beforeEach(() => {
  speak({ languageCode: "xx", load: () => brackets });
});
afterEach(() => {
  speak(nullTranslator);
});

const SAID = ["aria-label", "title", "placeholder"];
const GIVEN = [
  "In [1]",
  "loss.backward()",
  "RuntimeError",
  "%%autograd_inspect",
  "%pip",
  "%load_ext",
];

/** Everything that stands on the page or is read out, but what the program or the kernel gave. */
function said(node: Element): string[] {
  const texts = [...node.querySelectorAll("*"), node].flatMap((one) => [
    ...[...one.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent ?? ""),
    ...SAID.map((name) => one.getAttribute(name) ?? ""),
  ]);
  const joined = texts.filter((text) => /\p{L}{2}/u.test(text));
  return joined.filter((text) => !GIVEN.some((given) => text.startsWith(given)));
}

/** Sentences with code in them are split into elements, so brackets are looked for in the whole. */
function untranslated(node: Element): string[] {
  const whole = node.textContent ?? "";
  const inside = whole.match(/⟦[^⟦]*⟧/gu)?.join(" ") ?? "";
  return said(node).filter((text) => !text.includes("⟦") && !inside.includes(text));
}

test("the list speaks the page's language", () => {
  const none = () => {};
  const list = new EntryList({ pick: none, menu: none, rename: none, remove: none });
  const facts = { errors: 2, warnings: 1, infos: 1, error: "RuntimeError", pinned: true };
  list.show([{ ...entry("a"), ...facts, created: Date.now() / 1000 }, entry("b")], []);
  const when = list.node.querySelectorAll(".agi-capture-when");
  for (const node of when) node.remove(); // Times are written by the browser.
  expect(list.node.textContent).toContain("⟦2 errors⟧");
  expect(untranslated(list.node)).toEqual([]);
  list.edit("a");
  expect(untranslated(list.node)).toEqual([]);
});

test.each<[State, string]>([
  ["ready", ""],
  ["absent", ""],
  ["connecting", ""],
  ["unknown", ""],
])("what stands where the list would be, when the kernel is %s", (state, why) => {
  const client = { state, why, entries: [] } as unknown as IClient;
  const looks = [
    { client, place: true, kernel: true, language: "python" },
    { client, place: true, kernel: true, language: "R" },
    { client: null, place: false, kernel: null, language: "" },
    { client: null, place: true, kernel: false, language: "" },
    { client: null, place: true, kernel: true, language: "" },
    { client, place: true, kernel: null, language: "" },
  ];
  for (const looked of looks) {
    const texts = [...emptyState(looked)!.querySelectorAll("p")].map((p) => p.textContent ?? "");
    expect(texts).not.toHaveLength(0);
    for (const text of texts) expect(text).toMatch(/^⟦.*⟧$/u);
  }
});

test("what is under way, what failed and what is shown", async () => {
  const notice = new Notice();
  notice.fail("⟦why⟧");
  expect(untranslated(notice.node)).toEqual([]);
  const shown = new Shown({ openInTab() {}, close() {} });
  expect(untranslated(el("div", {}, shown.node))).toEqual([]);
  expect(mismatch({ protocol: 0 })).toMatch(/^⟦The kernel's .* restart the kernel\.⟧$/u);
});

test("a magic's name keeps both its signs", () => {
  const client = { state: "ready", why: "", entries: [] } as unknown as IClient;
  const node = emptyState({ client, place: true, kernel: true, language: "python" })!;
  expect(node.querySelector("p code")?.textContent).toBe("%%autograd_inspect");
});

test("large numbers are grouped, as everywhere else", () => {
  expect(facts({ ...entry("a"), nodes: 50_001, seconds: 0 })).toBe("⟦50,001 nodes⟧");
  expect(facts({ ...entry("a"), nodes: 1, seconds: 0 })).toBe("⟦1 node⟧");
});

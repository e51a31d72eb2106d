import { expect, test, vi } from "vitest";
import type { CreateGraphView } from "../src/model/graph_view";
import { opened } from "../src/model/inflate";
import { showSaved } from "../src/saved";
import { named } from "./fake";
import { capture, payload } from "./fixtures";
import kept from "./fixtures/kept.json";

const create = vi.fn(() => ({
  ...Object.fromEntries(
    ["select", "expandTo", "expandAll", "onlyProblems", "filter", "greyAfter", "path", "fit"].map(
      (name) => [name, vi.fn()],
    ),
  ),
  search: vi.fn(() => []),
  svg: vi.fn(() => "<svg/>"),
  destroy: vi.fn(),
})) as unknown as CreateGraphView;

/** What a notebook file keeps that has this to say. */
async function packed(said: string): Promise<{ wire: number; text: string }> {
  const { readable, writable } = new CompressionStream("deflate");
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode(said));
  void writer.close();
  const parts: number[] = [];
  const reader = readable.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    for (const byte of part.value) parts.push(byte);
  return { wire: 1, text: btoa(String.fromCharCode(...parts)) };
}

/** Reading is not done at once. */
async function settled(el: HTMLElement): Promise<void> {
  await vi.waitFor(() => expect(el.childNodes.length).toBeGreaterThan(0));
}

function host(): HTMLElement {
  const made = document.createElement("div");
  document.body.replaceChildren(made);
  return made;
}

test("the compact form that Python writes is read: every table, and those of the buffer", async () => {
  expect(await opened(kept.small)).toEqual(capture("broken").data);
  const large = await opened(kept.packed);
  const direct = capture("packed").data;
  expect(large.strings).toEqual(direct.strings);
  expect(Array.from(large.edges.source)).toEqual(Array.from(direct.edges.source));
});

test("a capture that is taken away before it was read never comes", async () => {
  const el = host();
  showSaved(el, kept.small, create)();
  await opened(kept.small);
  await new Promise((done) => setTimeout(done, 20));
  expect(el.childNodes).toHaveLength(0);
});

test("a short capture says so, counts the whole, and keeps its placement", async () => {
  const el = host();
  showSaved(el, JSON.parse(payload("short").text), create);
  await settled(el);
  const header = el.querySelector(".agi-header")!.textContent!;
  expect(header).toContain("condensed");
  expect(header).toMatch(/1,20\d ops/);
  expect(header).not.toMatch(/\d ms/);
  named(el, "Timeline").click();
  expect(el.textContent).toContain("Run the cell again");
  named(el, "Optimizer").click();
  expect(el.textContent).toContain("the first 400 of 1,600 parameters");
});

test("without a kernel only pictures can be exported", async () => {
  const el = host();
  showSaved(el, kept.small, create);
  await settled(el);
  const menu = named(el, "Export").parentElement!;
  const items = [...menu.querySelectorAll(".agi-menu-items button")].map(
    (item) => item.textContent,
  );
  expect(items).toEqual(["SVG", "PNG"]);
});

test("what is no capture is refused in one line, and taken away again", async () => {
  const good = kept.small.text;
  const wrong = [
    ...[null, [], {}, "text", { wire: 99 }, { wire: 1 }, { wire: 99, text: good }],
    ...[null, 7, "", "<img>", good.slice(0, -40), btoa("text")].map((text) => ({ wire: 1, text })),
    await packed("no line break"),
    await packed("no JSON\n"),
    await packed('{"wire":1}\n'),
  ];
  for (const one of wrong) {
    const el = host();
    const away = showSaved(el, one, create);
    await settled(el);
    expect(el.querySelectorAll("[role=alert]")).toHaveLength(1);
    expect(el.textContent).toMatch(/^autograd_inspector: this (is no|capture)/);
    away();
    expect(el.childNodes).toHaveLength(0);
  }
});

test("a text that becomes larger than a page can hold is refused", async () => {
  const bomb = await packed(`${" ".repeat(65e6)}\n`);
  expect(bomb.text.length).toBeLessThan(200_000);
  await expect(opened(bomb)).rejects.toThrow("this capture is damaged: text");
});

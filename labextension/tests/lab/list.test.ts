import { beforeEach, expect, test, vi } from "vitest";
import { EntryList } from "../../src/lab/panel/entry_list";
import { entry } from "./fake_kernel";

const actions = { pick: vi.fn(), menu: vi.fn(), rename: vi.fn(), remove: vi.fn() };
let list: EntryList;
beforeEach(() => {
  vi.clearAllMocks();
  list = new EntryList(actions);
  document.body.replaceChildren(list.node);
});
const main = (id: string) =>
  document.querySelector<HTMLButtonElement>(`[data-capture="${id}"] .agi-capture-main`)!;
const order = () =>
  [...list.node.children].map((node) => (node as HTMLElement).dataset.capture).join("");
const press = (key: string) =>
  document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const show = (ids: string) =>
  list.show(
    [...ids].map((id) => entry(id)),
    [],
  );

test("one stop of the Tab key; arrows, Home and End walk", () => {
  show("cba");
  expect(list.node.querySelectorAll("[tabindex='0'].agi-capture-main")).toHaveLength(1);
  list.focus();
  press("ArrowDown");
  expect(document.activeElement).toBe(main("b"));
  press("End");
  expect(document.activeElement).toBe(main("a"));
  press("ArrowDown");
  expect(document.activeElement).toBe(main("a"));
  press("Home");
  expect(main("c").tabIndex).toBe(0);
});

test("a new capture takes no focus, and one that goes gives it to its neighbour", () => {
  show("cba");
  main("b").focus();
  show("dcba");
  expect(order()).toBe("dcba");
  expect(document.activeElement).toBe(main("b"));
  show("dca");
  expect(document.activeElement).toBe(main("a"));
  show("dc");
  expect(document.activeElement).toBe(main("c"));
});

test("F2 renames in place: Enter keeps, Escape does not", () => {
  show("a");
  list.focus();
  press("F2");
  const input = document.querySelector("input")!;
  input.value = "  before  ";
  press("Enter");
  expect(actions.rename).toHaveBeenCalledWith("a", "before");
  expect(document.activeElement).toBe(main("a"));
  press("F2");
  document.querySelector("input")!.value = "other";
  press("Escape");
  expect(actions.rename).toHaveBeenCalledTimes(1);
});

test("what the kernel says while a name is typed waits", () => {
  show("a");
  list.edit("a");
  list.show([entry("a", { pinned: true })], []);
  expect(document.activeElement?.tagName).toBe("INPUT");
  press("Escape");
  expect(document.querySelector("[aria-label=pinned]")).not.toBeNull();
});

test("severity is said by sign and word, not by colour alone", () => {
  list.show([entry("a", { errors: 2, infos: 1 }), entry("b")], ["a"]);
  expect(main("a").textContent).toContain("✕ 2");
  expect(main("a").textContent).toContain("2 errors");
  expect(main("b").textContent).toContain("no findings");
  expect(main("a").getAttribute("aria-current")).toBe("true");
  expect(main("b").hasAttribute("aria-current")).toBe(false);
});

test("names of the program are text", () => {
  const hostile = "<img src=x onerror=alert(1)>";
  list.show([entry("a", { name: hostile, first_line: hostile, error: hostile })], []);
  expect(list.node.querySelector("img")).toBeNull();
  expect(main("a").textContent).toContain(hostile);
});

test("a capture that was released says so, and what to do", () => {
  list.show([entry("b"), entry("a", { released: true })], []);
  expect(main("a").textContent).toContain("released to free memory; run the cell again");
  expect(main("b").textContent).not.toContain("released");
});

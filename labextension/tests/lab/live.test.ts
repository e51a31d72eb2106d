import { beforeEach, expect, test, vi } from "vitest";
import type { Clients } from "../../src/lab/kernel/clients";
import { LiveWatch } from "../../src/lab/kernel/live";
import type { Live } from "../../src/lab/kernel/messages";
import { LiveRow } from "../../src/lab/panel/live_row";
import { inStatus, inWords } from "../../src/lab/panel/live_words";
import { REVEAL } from "../../src/state/reveal";

vi.mock("../../src/lab/announce", () => ({ announce: vi.fn() }));

const LIVE: Live = { cell: "In [3]", ops: 3400, steps: 12, seconds: 4.1, stopped: false };
const kernel = { status: "busy" as const } as { status: "busy" | "idle" };
const asked = vi.fn();
let live: Live | null;
let watch: LiveWatch;

beforeEach(() => {
  vi.useFakeTimers();
  asked.mockReset().mockImplementation(async () => ({ type: "answer", id: 1, live }));
  [live, kernel.status] = [LIVE, "busy"];
  watch = new LiveWatch(kernel, asked, () => true);
});

test("a cell that is done within a second is not asked about", async () => {
  watch.begin();
  watch.end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked).not.toHaveBeenCalled();
});

test("an open capture is looked at once a second, until it is closed", async () => {
  const told = vi.fn();
  watch.changed.connect(told);
  watch.begin();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(watch.now).toEqual(LIVE);
  // What answers makes the kernel idle for a moment.
  kernel.status = "idle";
  watch.begin();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(asked).toHaveBeenCalledTimes(3);
  live = null;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(watch.now).toBeNull();
  watch.begin();
  expect(told).toHaveBeenCalledTimes(4);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveBeenCalledTimes(6);
});

test("a cell that is not inspected is asked about ever more rarely", async () => {
  live = null;
  watch.begin();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked.mock.calls.length).toBeLessThan(10);
  expect(watch.now).toBeNull();
});

test("a kernel that answers only between cells is not asked", async () => {
  watch = new LiveWatch(kernel, asked, () => false);
  watch.begin();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).not.toHaveBeenCalled();
});

test("a kernel that does not know the question has nothing to tell", async () => {
  asked.mockRejectedValue(new Error("not understood"));
  watch.begin();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(watch.now).toBeNull();
});

test("it is said how far it is, and that it was stopped", () => {
  expect(inWords(LIVE)).toBe("In [3] runs: 12 steps, 3,400 ops, 4.1 s");
  expect(inWords({ ...LIVE, stopped: true })).toMatch(/^In \[3\] is no longer recorded/);
});

const MARK = {
  rule: "AG201",
  name: "saved-tensor-modified",
  severity: "error",
  message: "`add_` modified what sigmoid saved",
  cell: "In [3]",
  cell_id: "abc",
  line: 7,
  source: "h.add_(1)",
};

test("what is certain is listed with its line while the cell runs, and a click goes there", () => {
  const changed = { connect: vi.fn(), disconnect: vi.fn() };
  const watched = { now: { ...LIVE, marks: [MARK] } as Live | null, changed };
  const clients = { current: { live: watched }, changed } as unknown as Clients;
  const row = new LiveRow(clients, vi.fn());
  expect(row.node.querySelector("li")?.textContent).toContain("AG201In [3], line 7h.add_(1)");
  const gone = vi.fn();
  row.node.addEventListener(REVEAL, (event) => gone((event as CustomEvent).detail));
  row.node.querySelector<HTMLElement>("li button")!.click();
  expect(gone).toHaveBeenCalledWith(expect.objectContaining({ cellId: "abc", line: 7 }));
  const before = row.node.querySelector("li");
  const [, draw] = [null, changed.connect.mock.calls.at(-1)!] as const;
  draw[0].call(draw[1]);
  expect(row.node.querySelector("li")).toBe(before);
  watched.now = null;
  draw[0].call(draw[1]);
  expect(row.node.hidden).toBe(true);
  expect(row.node.querySelector("li")).toBeNull();
});

test("a line of a file is named by the file, and a click opens that", () => {
  const file = { ...MARK, cell: "helpers.py", cell_id: "", line: 8, path: "/project/helpers.py" };
  const changed = { connect: vi.fn(), disconnect: vi.fn() };
  const live = { now: { ...LIVE, marks: [file] }, changed };
  const row = new LiveRow({ current: { live }, changed } as unknown as Clients, vi.fn());
  const place = row.node.querySelector<HTMLElement>("li button")!;
  expect(place.textContent).toBe("helpers.py:8");
  const gone = vi.fn();
  row.node.addEventListener(REVEAL, (event) => gone((event as CustomEvent).detail));
  place.click();
  const there = { cell: "", filename: "/project/helpers.py", line: 8 };
  expect(gone).toHaveBeenCalledWith(expect.objectContaining(there));
  expect(inStatus(live.now)[1]).toMatch(/ · AG201 helpers\.py:8$/);
});

test("the status bar names the lines and bears the sign of the worst", () => {
  expect(inStatus(LIVE)).toEqual([null, inWords(LIVE)]);
  const [sign, text] = inStatus({ ...LIVE, marks: [MARK, { ...MARK, rule: "AG302", line: 9 }] });
  expect(sign?.classList.contains("agi-error")).toBe(true);
  expect(text).toMatch(/ · AG201 line 7, AG302 line 9$/);
});

import { beforeEach, expect, test, vi } from "vitest";
import { LiveWatch } from "../../src/lab/kernel/live";
import type { Live } from "../../src/lab/kernel/messages";
import { inWords } from "../../src/lab/panel/live_row";

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
  expect(inWords({ ...LIVE, stopped: true })).toMatch(/^In \[3\] runs, and is recorded no more/);
});

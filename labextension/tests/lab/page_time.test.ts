import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { pageTime } from "../../src/lab/kernel/page_time";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("ends after that time on a page that is idle", async () => {
  const ended = vi.fn();
  void pageTime(1_000).then(ended);
  await vi.advanceTimersByTimeAsync(990);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(20);
  expect(ended).toHaveBeenCalled();
});

it("counts the time in which the page is busy as one slice", async () => {
  const ended = vi.fn();
  void pageTime(1_000).then(ended);
  vi.setSystemTime(Date.now() + 60_000); // Nothing ran meanwhile.
  await vi.advanceTimersByTimeAsync(500);
  expect(ended).not.toHaveBeenCalled();
});

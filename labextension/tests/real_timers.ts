/** All files share one window: no test leaves it with timers that somebody has to advance. */

import { afterEach, vi } from "vitest";

afterEach(() => {
  vi.useRealTimers();
});

import { defineConfig } from "vitest/config";

export default defineConfig({
  // One window for all files: to make one takes longer than most of their tests. No test minds what others left in it.
  test: {
    environment: "jsdom",
    isolate: false,
    setupFiles: ["tests/real_timers.ts"],
    testTimeout: 30_000, // A busy machine is no fault of theirs.
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
  },
});

/** Long work in slices: between two of them the page answers. */

import { atOnce, type Work } from "../../layout/work";

/** Milliseconds of a slice: a step of the work that begins within may take some more. */
const SLICE = 24;

/** Null where it was given up. */
export async function inSlices<T>(work: Work<T>, signal: AbortSignal): Promise<T | null> {
  for (;;) {
    await new Promise((next) => setTimeout(next));
    if (signal.aborted) return null;
    const ends = performance.now() + SLICE;
    do {
      const step = work.next();
      if (step.done) return step.value;
    } while (performance.now() < ends);
  }
}

/** Work of which only the latest counts: small work is done at once, large work in slices. */
export class Latest {
  #running: AbortController | null = null;

  constructor(private readonly busy: (on: boolean) => void) {}

  run(work: Work<void>, large: boolean): void {
    this.stop();
    if (!large) {
      atOnce(work);
      return;
    }
    const running = new AbortController();
    this.#running = running;
    this.busy(true);
    void inSlices(work, running.signal).finally(() => {
      if (this.#running === running) this.stop();
    });
  }

  stop(): void {
    if (!this.#running) return;
    this.#running.abort();
    this.#running = null;
    this.busy(false);
  }
}

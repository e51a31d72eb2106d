/** Work that may be interrupted: a generator that yields wherever something else may run. */

export type Work<T> = Generator<void, T, void>;

/** All of it, now. */
export function atOnce<T>(work: Work<T>): T {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/**
 * Waiting that a busy page does not cut short.
 *
 * A page that is busy for seconds finds the answer and the end of the wait together afterwards, and may take the end
 * first. In slices, each of which begins when the page has its turn again, the answer is met before.
 */

const SLICES = 10;

/** Resolves after so many milliseconds in which the page could have heard an answer. */
export async function pageTime(milliseconds: number): Promise<void> {
  for (let slice = 0; slice < SLICES; slice++)
    await new Promise((resolve) => setTimeout(resolve, milliseconds / SLICES));
}

/** Which errors are autograd's own: those on which the inspector has something to say. */

import { TORCH_ERRORS } from "./torch_errors";

const LONGEST = 5_000;

export function isAutogradError(message: string): boolean {
  // A message on several lines is one sentence.
  const sentence = message.slice(0, LONGEST).replace(/\s+/g, " ");
  return TORCH_ERRORS.some((pattern) => pattern.test(sentence));
}

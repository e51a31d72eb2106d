/** Where the gradients came from that parameters were last stepped with. */

import type { GradientOrigin } from "../wire";
import type { Capture } from "./capture";

/** Row of the placement -> the losses whose gradients add up there, as far as that is known. */
export function gradientOrigins(capture: Capture): Map<number, GradientOrigin> {
  const origins = new Map<number, GradientOrigin>();
  for (const origin of capture.data.gradients ?? []) {
    for (const row of origin.parameters) origins.set(row, origin);
  }
  return origins;
}

/** That of a parameter, by its tensor. */
export function originOf(capture: Capture, tensor: number): GradientOrigin | undefined {
  const rows = capture.data.parameters.tensor;
  return capture.data.gradients?.find((origin) =>
    origin.parameters.some((row) => rows[row] === tensor),
  );
}

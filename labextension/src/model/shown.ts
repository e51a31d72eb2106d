/** Names and numbers as a reader sees them; the names follow autograd_inspector/views/display_text.py. */

export function size(count: number): string {
  let value = count;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 999.5) return `${unit === "B" ? value : Number(value.toPrecision(3))} ${unit}`;
    value /= 1000;
  }
  return `${Number(value.toPrecision(3))} TB`;
}

/** A checkpoint of the reentrant kind starts one of its own, inside that which the program started. */
export function startsBackward({
  root,
  recomputed,
}: {
  root: boolean;
  recomputed: boolean;
}): boolean {
  return root && !recomputed;
}

export function opName(name: string): string {
  return /^__.+__$/.test(name) ? name.slice(2, -2) : name;
}

export function seconds(value: number): string {
  if (value < 0.9995) return `${Number((value * 1000).toPrecision(3))} ms`;
  return `${Number(value.toPrecision(3))} s`;
}

export function version(value: number): string {
  return value < 0 ? "" : `v${value}`;
}

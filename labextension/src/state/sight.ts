/** Tells Python whether the page shows a model: what nobody sees is let go first when memory runs short. */

import type { Model } from "./widget_model";

/** Views of each model: its output, the panel, a tab. */
const views = new WeakMap<Model, number>();

/** One more view; returns what takes it away again. */
export function seen(model: Model): () => void {
  count(model, 1);
  return () => count(model, -1);
}

function count(model: Model, more: 1 | -1): void {
  const before = views.get(model) ?? 0;
  const after = before + more;
  views.set(model, after);
  if (before > 0 === after > 0) return;
  try {
    model.send({ command: "shown", on: after > 0 });
  } catch {
    // The kernel is gone, and with it what it kept.
  }
}

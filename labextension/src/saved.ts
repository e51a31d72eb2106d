/** A capture that a notebook file kept: shown without a kernel, as the widget would show it. */

import { Capture } from "./model/capture";
import { decoded } from "./model/decode";
import type { CreateGraphView } from "./model/graph_view";
import { revealFrom } from "./state/reveal";
import { refusal } from "./view/refusal";
import { shell } from "./view/shell";

/** Returns what takes it away again. */
export function showSaved(host: HTMLElement, kept: unknown, create: CreateGraphView): () => void {
  try {
    const capture = new Capture(decoded(kept));
    const reveal = revealFrom(host, () => ({}));
    return shell(host, capture, { createGraphView: create, other: null, ask: null, reveal })
      .destroy;
  } catch (error) {
    host.append(refusal(error));
    return () => host.replaceChildren();
  }
}

/** A capture that a notebook file kept: shown without a kernel, as the widget would show it. */

import { Capture } from "./model/capture";
import type { Data } from "./model/decode";
import type { CreateGraphView } from "./model/graph_view";
import { opened } from "./model/inflate";
import { revealFrom } from "./state/reveal";
import { refusal } from "./view/refusal";
import { shell } from "./view/shell";

/** Returns what takes it away again, also before it is there. */
export function showSaved(host: HTMLElement, kept: unknown, create: CreateGraphView): () => void {
  let gone = false;
  let away = (): void => host.replaceChildren();
  const draw = (data: Data): void => {
    if (gone) return;
    const reveal = revealFrom(host, () => ({}));
    const ways = { createGraphView: create, other: null, ask: null, reveal };
    away = shell(host, new Capture(data), ways).destroy;
  };
  opened(kept)
    .then(draw)
    .catch((error: unknown) => {
      if (!gone) host.append(refusal(error));
    });
  return () => {
    gone = true;
    away();
  };
}

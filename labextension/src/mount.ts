/** A model of the kernel -> the widget in an element, both kept in step. */

import type { CreateGraphView } from "./model/graph_view";
import { editsFrom } from "./state/edits";
import { Kernel } from "./state/kernel";
import { Prepared } from "./state/prepared";
import { revealFrom } from "./state/reveal";
import { seen } from "./state/sight";
import type { Model } from "./state/widget_model";
import { reason, refusal } from "./view/refusal";
import { type Other, type Shell, shell } from "./view/shell";

export function mount(
  model: Model,
  el: HTMLElement,
  create: CreateGraphView,
  prepared = new Prepared(),
): () => void {
  const kernel = new Kernel(model);
  const reveal = revealFrom(el, () => model.get("cells") ?? {});
  const edits = editsFrom(el, () => model.get("cells") ?? {});
  let shown: Shell | null = null;
  let switched = false;
  const draw = () => {
    const before = shown?.looked;
    shown?.destroy();
    shown = null;
    el.replaceChildren();
    try {
      prepared.keepOnly([model.get("payload"), model.get("other_payload")]);
      const capture = prepared.capture(model.get("payload"), model.get("buffer"));
      shown = shell(el, capture, {
        createGraphView: create,
        ...other(model, prepared),
        ask: kernel.ask,
        reveal,
        edits,
        chooseRank: (rank) => {
          switched = true;
          model.send({ command: "rank", rank });
        },
        before,
      });
      // The buttons were made anew.
      if (switched) el.querySelector<HTMLElement>(".agi-ranks [aria-pressed=true]")?.focus();
      switched = false;
    } catch (error) {
      el.append(refusal(error));
      return;
    }
    const { selection } = shown;
    // Python has chosen nothing: the first finding is read.
    if (model.get("selected").length) shown.follow(model.get("selected"));
    selection.listen((ids, origin) => {
      if (origin === "kernel" || origin === "opening") return;
      model.set("selected", [...ids]);
      model.save_changes();
    });
  };
  const follow = () => {
    const ids = model.get("selected");
    const selected = shown?.selection.ids ?? [];
    const same = ids.length === selected.length && ids.every((id, n) => id === selected[n]);
    if (!same) shown?.follow(ids);
  };
  draw();
  const unseen = seen(model);
  model.on("change:payload", draw);
  model.on("change:other_payload", draw);
  model.on("change:selected", follow);
  return () => {
    model.off("change:payload", draw);
    model.off("change:other_payload", draw);
    model.off("change:selected", follow);
    kernel.close();
    unseen();
    shown?.destroy();
  };
}

/** What to compare with; whatever is wrong with that is no reason not to show the capture. */
function other(model: Model, prepared: Prepared): { other: Other | null; refused?: string } {
  const text = model.get("other_payload");
  if (!text) return { other: null };
  try {
    const capture = prepared.capture(text, model.get("other_buffer"));
    return { other: { capture, name: model.get("other_name") } };
  } catch (error) {
    return { other: null, refused: reason(error) };
  }
}

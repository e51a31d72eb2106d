/** A model of the kernel -> the widget in an element, both kept in step. */

import type { AnyModel } from "@anywidget/types";
import { Capture } from "./model/capture";
import { decode } from "./model/decode";
import type { CreateGraphView } from "./model/graph_view";
import { Kernel } from "./state/kernel";
import { refusal } from "./view/refusal";
import { type Other, type Shell, shell } from "./view/shell";

export interface Traits {
  payload: string;
  buffer: DataView;
  other_payload: string;
  other_buffer: DataView;
  other_name: string;
  selected: number[];
}

export type Model = AnyModel<Traits & Record<string, unknown>>;

export function mount(model: Model, el: HTMLElement, create: CreateGraphView): () => void {
  const kernel = new Kernel(model);
  let shown: Shell | null = null;
  const draw = () => {
    shown?.destroy();
    shown = null;
    el.replaceChildren();
    try {
      const capture = new Capture(decode(model.get("payload"), model.get("buffer")));
      shown = shell(el, capture, { createGraphView: create, other: other(model), ask: kernel.ask });
    } catch (error) {
      el.append(refusal(error));
      return;
    }
    const { selection } = shown;
    selection.set(model.get("selected"), "kernel", true);
    selection.listen((ids, origin) => {
      if (origin === "kernel") return;
      model.set("selected", [...ids]);
      model.save_changes();
    });
  };
  const follow = () => {
    const ids = model.get("selected");
    const known = shown?.selection.ids ?? [];
    const same = ids.length === known.length && ids.every((id, n) => id === known[n]);
    if (!same) shown?.selection.set(ids, "kernel", true);
  };
  draw();
  model.on("change:payload", draw);
  model.on("change:other_payload", draw);
  model.on("change:selected", follow);
  return () => {
    model.off("change:payload", draw);
    model.off("change:other_payload", draw);
    model.off("change:selected", follow);
    kernel.close();
    shown?.destroy();
  };
}

function other(model: Model): Other | null {
  const text = model.get("other_payload");
  if (!text) return null;
  const capture = new Capture(decode(text, model.get("other_buffer")));
  return { capture, name: model.get("other_name") };
}

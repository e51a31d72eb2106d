/** What all views of one model share: the decoded captures, and with them their graphs and trees. */

import { treeOf } from "../layout";
import { Capture } from "../model/capture";
import { decode } from "../model/decode";
import { graphOf } from "../model/graph_of";
import type { Model } from "./widget_model";

export class Prepared {
  #known = new Map<string, Capture>();

  /** Do ahead of the first view what needs no page; what is wrong is for the view to say. */
  begin(model: Model): void {
    try {
      treeOf(graphOf(this.capture(model.get("payload"), model.get("buffer"))));
    } catch {
      this.#known.clear();
    }
  }

  /** Throws a WireError. */
  capture(text: string, buffer: DataView): Capture {
    let capture = this.#known.get(text);
    if (!capture) {
      capture = new Capture(decode(text, buffer));
      this.#known.set(text, capture);
    }
    return capture;
  }

  /** Captures that are no longer shown. */
  keepOnly(texts: string[]): void {
    this.#known = new Map([...this.#known].filter(([text]) => texts.includes(text)));
  }
}

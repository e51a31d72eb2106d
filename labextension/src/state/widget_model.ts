/** What the kernel and the widget share, by its name on both sides. */

import type { AnyModel } from "@anywidget/types";

export interface Traits {
  payload: string;
  buffer: DataView;
  other_payload: string;
  other_buffer: DataView;
  other_name: string;
  selected: number[];
  /** "In [3]" -> the notebook's id of that cell. */
  cells: Record<string, string>;
}

export type Model = AnyModel<Traits & Record<string, unknown>>;

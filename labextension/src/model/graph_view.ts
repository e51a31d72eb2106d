/** What the shell asks of the picture; src/view/graph implements it. */

import type { CaptureGraph } from "./graph";

export interface Filter {
  problems?: boolean;
  parameters?: boolean;
  device?: string;
  dtype?: string;
}

export interface GraphView {
  select(ids: number[], options?: { focus?: boolean }): void;
  expandTo(depth: number): void;
  expandAll(): void;
  /** What does not pass steps back; `problems` shows a small picture of them alone. */
  filter(filter: Filter): void;
  /** Mark what a search found. */
  match(ids: number[]): void;
  /** Grey what ran after that op; null: nothing. */
  greyAfter(op: number | null): void;
  /** Highlight the way of gradient through a node. */
  path(node: number | null): void;
  /** Colour boxes by how much of something their nodes have (by node id), null: by what they are. Returns the most. */
  heat(values: ArrayLike<number> | null): number;
  /** Whether the tree of modules and nodes stands beside the picture. */
  outline(on: boolean): void;
  fit(): void;
  /** The picture as it stands, with its legend and that heading, on its own. */
  svg(...heading: string[]): string;
  destroy(): void;
}

export type CreateGraphView = (
  host: HTMLElement,
  graph: CaptureGraph,
  options: { onSelect(id: number | null): void },
) => GraphView;

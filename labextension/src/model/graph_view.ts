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
  onlyProblems(on: boolean): void;
  filter(filter: Filter): void;
  /** The nodes that match. */
  search(text: string): number[];
  /** Grey what ran after that op; null: nothing. */
  greyAfter(op: number | null): void;
  /** Highlight the way of gradient through a node. */
  path(node: number | null): void;
  fit(): void;
  /** The picture as it stands, on its own. */
  svg(): string;
  destroy(): void;
}

export type CreateGraphView = (
  host: HTMLElement,
  graph: CaptureGraph,
  options: { onSelect(id: number | null): void; dark?: boolean },
) => GraphView;

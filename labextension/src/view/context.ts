/** What every part of the widget is given. */

import type { Capture } from "../model/capture";
import type { CaptureGraph } from "../model/graph";
import { opName } from "../model/shown";
import type { Edits } from "../state/edits";
import type { Reveal } from "../state/reveal";
import type { Origin, Selection } from "../state/selection";

export type TabName =
  | "Graph"
  | "Findings"
  | "Timeline"
  | "Optimizer"
  | "Ranks"
  | "Vitals"
  | "Compare";

export interface Context {
  capture: Capture;
  graph: CaptureGraph;
  selection: Selection;
  /** How to go to a line of the program; null where the page has no program beside it. */
  reveal: Reveal | null;
  /** How to make an edit in the notebook; null where there is none. */
  edits: Edits | null;
  /** The finding that is read now, by number; null where there is none. */
  readonly finding: number | null;
  /** Read a finding: its nodes are selected, and brought into sight. */
  choose(finding: number, origin: Origin): void;
  /** The widget as a whole. */
  root(): HTMLElement;
  /** Bring a tab to the front. */
  show(tab: TabName): void;
  /** Tell a screen reader; `seen`: everybody, beside the tabs, until there is something else to tell. */
  announce(text: string, seen?: boolean): void;
  /** Grey what ran after that op. */
  greyAfter(op: number | null): void;
}

/** A node in a few words: `norm · layer_norm`. */
export function label(context: Pick<Context, "graph">, id: number): string {
  const node = context.graph.nodes[id];
  if (!node) return "";
  const name = opName(node.name);
  return node.path ? `${node.path} · ${name}` : name;
}

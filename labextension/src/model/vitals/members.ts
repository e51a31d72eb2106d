/** The nodes of the graph that a row of the vitals is about. */

import type { Capture } from "../capture";
import type { CaptureGraph } from "../graph";

/** Those inside the module, and its parameters; of a row that is a parameter itself, its leaf. */
export function membersOf(capture: Capture, graph: CaptureGraph, path: string): number[] {
  const inside = (name: string) => name === path || name.startsWith(`${path}.`);
  return graph.nodes
    .filter(
      (node) => inside(node.path) || (node.tensor >= 0 && inside(capture.tensor(node.tensor).name)),
    )
    .map((node) => node.id);
}

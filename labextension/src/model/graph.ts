/** The merged graph as the views see it: what the program computed, and where gradient can flow. */

export type NodeKind =
  | "op"
  | "function"
  | "step"
  | "autograd"
  | "parameter"
  | "buffer"
  | "input"
  | "gradient";

/** `modified`: what the source had saved was modified in place by the target. */
export type EdgeKind = "gradient" | "data" | "severed" | "modified";

export type Severity = "error" | "warning" | "info";

/** What the graph says of a finding; the rest is for the tab of findings. */
export interface GraphFinding {
  rule: string;
  name: string;
  severity: Severity;
}

/** A saved tensor that something modified: the version that was saved, and the one it has now. */
export interface Modified {
  name: string;
  saved: number;
  now: number;
}

export interface GraphNode {
  id: number;
  kind: NodeKind;
  name: string;
  /** The module that it ran in. */
  path: string;
  /** The call of that module, -1 for none. */
  call: number;
  /** Its place in program order, -1 for leaves and autograd nodes of no op. */
  op: number;
  tensor: number;
  site: number;
  gradFns: string[];
  modified: Modified[];
  hooks: number;
  /** Gradient can flow through it. */
  tracked: boolean;
  /** A backward started from it. */
  root: boolean;
  /** Here the backward failed. */
  failed: boolean;
  recomputed: boolean;
  error: string;
  shape: string;
  dtype: string;
  device: string;
  /** The findings that name it, as indices into those of the graph. */
  findings: number[];
  /** "" or the grad mode that it ran under: "no_grad", "inference_mode". */
  region: string;
  /** What a backward left in a parameter's .grad; "" where nothing is known. */
  gradient: "" | "present" | "none";
}

export interface GraphEdge {
  source: number;
  target: number;
  kind: EdgeKind;
  /** Why a severed edge is severed: "detached", "no_grad", ...; of a modified one the versions. */
  cause: string;
  site: number;
  live: boolean;
  /** Of the value; "" where that is not known. */
  shape: string;
}

export interface Call {
  id: number;
  parent: number;
  path: string;
  type: string;
  nth: number;
  root: number;
}

export interface CaptureGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  calls: Call[];
  findings: GraphFinding[];
  models: string[];
}

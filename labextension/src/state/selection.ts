/** Which nodes are selected; every view listens, and says who asked. */

export type Origin =
  | "graph"
  | "details"
  | "findings"
  | "timeline"
  | "optimizer"
  | "compare"
  | "kernel";
type Listener = (ids: readonly number[], origin: Origin, focus: boolean) => void;

export class Selection {
  private listeners: Listener[] = [];
  ids: readonly number[] = [];

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(ids: readonly number[], origin: Origin, focus = false): void {
    const same = ids.length === this.ids.length && ids.every((id, n) => id === this.ids[n]);
    if (same && !focus) return;
    this.ids = [...ids];
    for (const listener of this.listeners) listener(this.ids, origin, focus);
  }
}

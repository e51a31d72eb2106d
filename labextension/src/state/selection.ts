/** Which nodes are selected, and as what; every view listens, and says who asked. */

export type Origin =
  | "graph"
  | "details"
  | "findings"
  | "timeline"
  | "optimizer"
  | "vitals"
  | "compare"
  | "kernel"
  /** What is shown when nobody has chosen anything yet. */
  | "opening";
type Listener = (ids: readonly number[], origin: Origin, focus: boolean) => void;

export class Selection {
  #listeners: Listener[] = [];
  ids: readonly number[] = [];
  /** The finding whose nodes these are, by number; null where nodes were chosen one by one. */
  finding: number | null = null;

  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  set(ids: readonly number[], origin: Origin, focus = false, finding: number | null = null): void {
    const same = ids.length === this.ids.length && ids.every((id, n) => id === this.ids[n]);
    if (same && finding === this.finding && !focus) return;
    this.ids = [...ids];
    this.finding = finding;
    for (const listener of this.#listeners) listener(this.ids, origin, focus);
  }
}

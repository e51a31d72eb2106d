/** How far a capture is whose cell runs: asked for now and then, where the kernel answers beside its cell. */

import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import type { RequestBody } from "../api";
import type { Answer, Live } from "./messages";

/** Milliseconds between looks at a capture that is open; a cell that is shorter is not looked at. */
const NEXT = 1_000;
/** Between looks at a cell that has opened none so far. */
const LONGEST = 10_000;
/** Idle may be the subshell that answered: so many looks in a row must find nothing. */
const SURE = 3;

export class LiveWatch {
  readonly changed = new Signal<this, void>(this);
  now: Live | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private nothing = 0;

  constructor(
    private readonly kernel: Pick<Kernel.IKernelConnection, "status">,
    private readonly ask: (asked: RequestBody) => Promise<Answer>,
    /** Whether an answer may come before the cell ends. */
    private readonly answers: () => boolean,
  ) {}

  /** The kernel began something. Answers make it busy for a moment, too: what is watched already stays so. */
  begin(): void {
    if (this.timer !== null) return;
    this.nothing = 0;
    this.timer = setTimeout(() => void this.look(NEXT), NEXT);
  }

  end(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.tell(null);
  }

  private async look(wait: number): Promise<void> {
    const timer = this.timer;
    const live = this.answers() ? await this.state() : null;
    if (this.timer !== timer) return;
    this.timer = null;
    this.tell(live);
    this.nothing = live || this.kernel.status === "busy" ? 0 : this.nothing + 1;
    if (this.nothing >= SURE) return;
    const next = live ? NEXT : Math.min(2 * wait, LONGEST);
    this.timer = setTimeout(() => void this.look(next), next);
  }

  private async state(): Promise<Live | null> {
    try {
      return (await this.ask({ action: "live" })).live ?? null;
    } catch {
      return null; // The kernel is older, or gone: that is told elsewhere.
    }
  }

  private tell(live: Live | null): void {
    if (live === null && this.now === null) return;
    this.now = live;
    this.changed.emit();
  }
}

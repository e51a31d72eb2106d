/** Questions to one kernel: each has a number, and one answer or one line saying why there is none. */

import type { RequestBody } from "../api";
import { trans } from "../i18n";
import type { Answer, Progress, Refusal, Request } from "./messages";

/** Milliseconds until a user is told that something takes time. */
const SOON = 500;
/** Milliseconds between looks at a question that has no answer. */
const LOOK = 1_000;
/** Looks without a word, while the kernel has nothing else to do, until a question is given up. */
const PATIENCE = 20;

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
  progress(text: string): void;
  told: boolean;
  /** Looks in a row without a word. */
  silent: number;
  soon: ReturnType<typeof setTimeout>;
  look: ReturnType<typeof setInterval>;
}

/** What a question waits for. */
export interface Pace {
  /** Whether the kernel does something else: then there is no hurry. */
  busy(): boolean;
  /** What to tell the user meanwhile. */
  meanwhile(): string;
}

export class Requests {
  private readonly waiting = new Map<number, Waiting>();
  private next = 1;

  constructor(
    private readonly send: (request: Request) => Promise<void>,
    private readonly pace: Pace,
  ) {}

  ask(asked: RequestBody, progress: (text: string) => void = () => {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      const soon = setTimeout(() => {
        const late = this.waiting.get(id);
        if (late && !late.told) late.progress(this.pace.meanwhile());
      }, SOON);
      const look = setInterval(() => this.look(id), LOOK);
      this.waiting.set(id, { resolve, reject, progress, told: false, silent: 0, soon, look });
      this.send({ ...asked, id }).catch((error: Error) => this.settle(id)?.reject(error));
    });
  }

  take(message: Answer | Refusal | Progress): void {
    const waiting = this.waiting.get(message.id);
    if (!waiting) return;
    if (message.type === "progress") {
      waiting.told = true;
      waiting.silent = 0;
      waiting.progress(message.text);
    } else if (message.type === "refusal") this.settle(message.id)?.reject(new Error(message.text));
    else this.settle(message.id)?.resolve(message);
  }

  /** No answer comes any more. */
  fail(why: string): void {
    for (const id of [...this.waiting.keys()]) this.settle(id)?.reject(new Error(why));
  }

  private look(id: number): void {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    waiting.silent = this.pace.busy() ? 0 : waiting.silent + 1;
    if (waiting.silent < PATIENCE) return;
    this.settle(id)?.reject(new Error(trans.__("no answer from the kernel; is it running?")));
  }

  private settle(id: number): Waiting | undefined {
    const request = this.waiting.get(id);
    if (request) {
      clearTimeout(request.soon);
      clearInterval(request.look);
    }
    this.waiting.delete(id);
    return request;
  }
}

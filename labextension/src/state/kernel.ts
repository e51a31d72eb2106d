/** Questions to Python, each with one answer. */

import { trans } from "../words";
import type { Model } from "./widget_model";

const PATIENCE = 15_000;
type Waiting = {
  resolve(text: string): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
};

export class Kernel {
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;

  constructor(private readonly model: Model) {
    model.on("msg:custom", this.#answer);
  }

  /** The report in another form. */
  readonly ask = (format: "dot" | "json" | "html"): Promise<string> =>
    new Promise((resolve, reject) => {
      const id = this.#next++;
      const late = () =>
        this.#settle(id)?.reject(
          new Error(trans.__("no answer: the kernel is busy, was restarted, or is gone")),
        );
      this.#waiting.set(id, { resolve, reject, timer: setTimeout(late, PATIENCE) });
      this.model.send({ command: "export", id, format });
    });

  close(): void {
    this.model.off("msg:custom", this.#answer);
    for (const id of [...this.#waiting.keys()])
      this.#settle(id)?.reject(new Error(trans.__("the widget was closed")));
  }

  readonly #answer = (message: { id?: number; text?: string; error?: string }): void => {
    if (typeof message?.id !== "number") return;
    const waiting = this.#settle(message.id);
    if (typeof message.text === "string") waiting?.resolve(message.text);
    else waiting?.reject(new Error(message.error ?? trans.__("an answer without text")));
  };

  #settle(id: number): Waiting | undefined {
    const request = this.#waiting.get(id);
    if (request) clearTimeout(request.timer);
    this.#waiting.delete(id);
    return request;
  }
}

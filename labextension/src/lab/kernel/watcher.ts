/** Waits for a kernel to have a widget. */

import type { ISessionContext } from "@jupyterlab/apputils";
import type { Kernel } from "@jupyterlab/services";

const TARGET = "jupyter.widget";
/** One question a kernel, however many outputs want to know. */
const asked = new WeakMap<Kernel.IKernelConnection, Promise<ReadonlySet<string>>>();

export class Watcher {
  private disposed = false;

  constructor(
    private readonly session: ISessionContext,
    private readonly id: string,
    private readonly onHub: () => void,
  ) {
    session.kernelChanged.connect(this.ask, this);
    session.connectionStatusChanged.connect(this.ask, this);
    session.iopubMessage.connect(this.heard, this);
    this.ask();
  }

  /** Whether this page speaks with the kernel's widget already. */
  has(): boolean {
    return this.session.session?.kernel?.hasComm(this.id) ?? false;
  }

  dispose(): void {
    this.disposed = true;
    this.session.kernelChanged.disconnect(this.ask, this);
    this.session.connectionStatusChanged.disconnect(this.ask, this);
    this.session.iopubMessage.disconnect(this.heard, this);
  }

  private heard(): void {
    if (this.has()) this.onHub();
  }

  /** After a reload the kernel may have a widget that nobody here has asked for yet. */
  private ask(): void {
    const kernel = this.session.session?.kernel;
    if (kernel?.connectionStatus !== "connected") return;
    let answer = asked.get(kernel);
    if (!answer) {
      answer = idsOf(kernel);
      asked.set(kernel, answer);
      void answer.finally(() => asked.delete(kernel));
    }
    void answer.then((ids) => {
      if (!this.disposed && ids.has(this.id)) this.onHub();
    });
  }
}

async function idsOf(kernel: Kernel.IKernelConnection): Promise<ReadonlySet<string>> {
  try {
    const { content } = await kernel.requestCommInfo({ target_name: TARGET });
    return new Set(content.status === "ok" ? Object.keys(content.comms) : []);
  } catch {
    return new Set(); // The kernel is gone; another one will be asked.
  }
}

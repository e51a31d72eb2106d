/** The inspector as the other parts of the extension see it. */

import { Signal } from "@lumino/signaling";
import type { IClient, IInspector } from "./api";
import type { Clients } from "./kernel/clients";

export class Inspector implements IInspector {
  readonly changed = new Signal<this, void>(this);

  constructor(
    private readonly clients: Clients,
    readonly show: (captureId: string) => Promise<void>,
  ) {
    clients.changed.connect(() => this.changed.emit());
  }

  get current(): IClient | null {
    return this.clients.current;
  }

  clientOf(kernelId: string): IClient | null {
    return this.clients.of(kernelId);
  }
}

/** The kernels of this page, and which of them is looked at: that of the active notebook or console. */

import type { ISessionContext } from "@jupyterlab/apputils";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Kernel } from "@jupyterlab/services";
import { type ISignal, Signal } from "@lumino/signaling";
import type { Widget } from "@lumino/widgets";
import { Client } from "./client";

/** A notebook or a console. */
export interface Place {
  readonly widget: Widget;
  readonly context: ISessionContext;
  readonly rendermime: IRenderMimeRegistry;
}

export class Clients {
  private readonly places = new Map<Widget, Place>();
  private readonly known = new Map<string, Client>();
  private readonly signal = new Signal<this, void>(this);
  private active: Place | null = null;

  /** Another client is current, or something about a client is different. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** The notebook or console that is looked at. */
  get place(): Place | null {
    return this.active;
  }

  get current(): Client | null {
    const kernel = this.active?.context.session?.kernel;
    return kernel ? this.of(kernel.id) : null;
  }

  of(kernelId: string): Client | null {
    return this.known.get(kernelId) ?? null;
  }

  /** Where the widgets of a kernel live: of several notebooks on one kernel, only one hears its comms. */
  homeOf(client: Client): Place | null {
    const places = [...this.places.values()];
    return places.find((place) => place.context.session?.kernel === client.kernel) ?? null;
  }

  watch(place: Place): void {
    if (this.places.has(place.widget)) return;
    this.places.set(place.widget, place);
    place.context.kernelChanged.connect(this.kernelChanged, this);
    place.widget.disposed.connect(() => this.leave(place));
    this.meet(place.context.session?.kernel);
    place.context.ready.then(
      () => this.signal.emit(),
      () => {}, // It was closed before.
    );
  }

  /** What the user looks at now; anything else than a notebook or console changes nothing. */
  look(widget: Widget | null): void {
    const place = widget && this.places.get(widget);
    if (!place || place === this.active) return;
    this.active = place;
    this.signal.emit();
  }

  private kernelChanged(
    _: ISessionContext,
    { newValue }: { newValue: Kernel.IKernelConnection | null },
  ): void {
    this.meet(newValue);
    this.signal.emit();
  }

  private meet(kernel: Kernel.IKernelConnection | null | undefined): void {
    if (!kernel?.handleComms || kernel.isDisposed) return;
    if (this.known.get(kernel.id)?.kernel === kernel) return;
    const client = new Client(kernel);
    this.known.set(kernel.id, client);
    client.changed.connect(() => this.signal.emit());
    kernel.disposed.connect(() => this.forget(kernel));
    this.signal.emit();
  }

  private forget(kernel: Kernel.IKernelConnection): void {
    if (this.known.get(kernel.id)?.kernel !== kernel) return;
    this.known.delete(kernel.id);
    for (const { context } of this.places.values()) this.meet(context.session?.kernel);
    this.signal.emit();
  }

  private leave(place: Place): void {
    this.places.delete(place.widget);
    place.context.kernelChanged.disconnect(this.kernelChanged, this);
    if (this.active === place) this.active = [...this.places.values()].at(-1) ?? null;
    this.signal.emit();
  }
}

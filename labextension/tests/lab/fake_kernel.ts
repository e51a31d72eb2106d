/** A kernel with a hub, as far as a page sees it. */

import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import type { Changed, Entry, Listing, Request } from "../../src/lab/kernel/messages";
import { HUB, PROTOCOL, REQUESTS } from "../../src/lab/kernel/messages";
import { WIRE } from "../../src/wire";

export class FakeComm {
  onMsg: (message: unknown) => void = () => {};
  onClose: (message: unknown) => void = () => {};
  opened = false;
  sent: Request[] = [];
  readonly subshellStarted = Promise.resolve();

  constructor(
    readonly targetName: string,
    readonly commId: string,
  ) {}

  open(): void {
    this.opened = true;
  }
  send(data: Request): void {
    this.sent.push(data);
  }
  tell(data: unknown): void {
    this.onMsg({ content: { data } });
  }
}

export class FakeKernel {
  id = "kernel-1";
  handleComms = true;
  isDisposed = false;
  supportsSubshells = false;
  status = "idle";
  connectionStatus = "connected";
  info = Promise.resolve({ language_info: { name: "python" } });
  statusChanged = new Signal<this, string>(this);
  connectionStatusChanged = new Signal<this, string>(this);
  disposed = new Signal<this, void>(this);
  comms: FakeComm[] = [];
  /** The comm that requestCommInfo knows; null for none. */
  hub: string | null = null;
  /** Set to keep requestCommInfo waiting, as a running cell does. */
  running: Promise<void> = Promise.resolve();
  private target: (comm: unknown, message: unknown) => void = () => {};

  get kernel(): Kernel.IKernelConnection {
    return this as unknown as Kernel.IKernelConnection;
  }

  registerCommTarget(name: string, callback: (comm: unknown, message: unknown) => void): void {
    if (name === HUB) this.target = callback;
  }
  hasComm(id: string): boolean {
    return this.comms.some((comm) => comm.commId === id);
  }
  createComm(target: string, id = `comm-${this.comms.length}`): FakeComm {
    const made = new FakeComm(target, id);
    this.comms.push(made);
    return made;
  }
  async requestCommInfo(): Promise<unknown> {
    await this.running;
    const comms = this.hub === null ? {} : { [this.hub]: { target_name: HUB } };
    return { content: { status: "ok", comms } };
  }

  /** The kernel opens its hub. */
  begin(told: Listing): FakeComm {
    const comm = this.createComm(HUB, "hub");
    this.target(comm, { content: { data: told } });
    return comm;
  }
  become(status: string): void {
    this.status = status;
    this.statusChanged.emit(status);
  }
  connection(status: string): void {
    this.connectionStatus = status;
    this.connectionStatusChanged.emit(status);
  }
  get asked(): FakeComm {
    return this.comms.filter((comm) => comm.targetName === REQUESTS).at(-1)!;
  }
  /** Answers the last question. */
  answer(facts: object): void {
    const { id } = this.asked.sent.at(-1)!;
    this.asked.tell({ type: "answer", id, ...facts });
  }
}

export function entry(id: string, facts: Partial<Entry> = {}): Entry {
  return {
    id,
    name: "",
    cell: "In [1]",
    cell_id: "",
    first_line: "loss.backward()",
    headline: "",
    errors: 0,
    warnings: 0,
    infos: 0,
    nodes: 3,
    ops: 2,
    created: 1_700_000_000,
    seconds: 0.1,
    ...facts,
  };
}

export function listing(revision: number, ids: string[], facts: Partial<Listing> = {}): Listing {
  const told = { protocol: PROTOCOL, wire: WIRE, version: "0.1.0", revision };
  const captures = ids.map((id) => entry(id));
  return { type: "list", ...told, captures, every: false, keep: 50, values: false, ...facts };
}

export function changed(revision: number, id: string, facts: Partial<Entry> = {}): Changed {
  return { type: "changed", protocol: PROTOCOL, revision, entry: entry(id, facts) };
}

/** Until everything that is under way has gone on. */
export async function settled(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve();
}

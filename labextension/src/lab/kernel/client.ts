/** One kernel: its captures as they are now, and what may be asked of it. */

import type { Kernel, KernelMessage } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import type { IClient, Inspecting, RequestBody, State } from "../api";
import { trans } from "../i18n";
import { findHub } from "./find_hub";
import { type HubMessage, Ledger } from "./ledger";
import { LiveWatch } from "./live";
import { type Answer, type Entry, HUB, type Listing } from "./messages";
import { RequestChannel } from "./request_channel";
import { Requests } from "./requests";
import { mismatch } from "./versions";

const restarted = () => trans.__("The kernel was restarted, and its captures are gone.");
const busy = () =>
  trans.__("The kernel is starting or busy. Its captures will appear when it responds.");
const gone = () => trans.__("the kernel is gone");

export class Client implements IClient {
  readonly changed = new Signal<this, void>(this);
  state: State = "unknown";
  why = "";
  /** Of the kernel, "" until it said. */
  language = "";
  readonly live: LiveWatch;
  private readonly ledger = new Ledger();
  private readonly channel: RequestChannel;
  private readonly requests: Requests;
  /** What an answer from before a restart, or before the kernel itself spoke, is told by. */
  private round = 0;

  constructor(readonly kernel: Kernel.IKernelConnection) {
    this.channel = new RequestChannel(
      kernel,
      (message) => this.requests.take(message),
      () => this.lost("absent", ""),
    );
    this.requests = new Requests(this.channel.send, {
      busy: () => kernel.status === "busy" || kernel.connectionStatus !== "connected",
      meanwhile: () =>
        kernel.status === "busy" && !this.channel.subshell
          ? trans.__("waiting until the running cell ends")
          : trans.__("working"),
    });
    this.live = new LiveWatch(
      kernel,
      (asked) => this.ask(asked),
      () => this.state === "ready" && this.channel.subshell,
    );
    kernel.registerCommTarget(HUB, this.opened);
    kernel.statusChanged.connect(this.statusChanged, this);
    kernel.connectionStatusChanged.connect(this.connectionChanged, this);
    kernel.disposed.connect(this.dispose, this);
    kernel.info.then(
      (info) => {
        this.language = info.language_info.name;
        this.changed.emit();
      },
      () => {}, // It died first, and says so otherwise.
    );
    if (kernel.connectionStatus === "connected") void this.connect();
  }

  get kernelId(): string {
    return this.kernel.id;
  }

  get entries(): readonly Entry[] {
    return this.ledger.entries;
  }

  get settings(): Inspecting | null {
    return this.ledger.settings;
  }

  ask(asked: RequestBody, progress?: (text: string) => void): Promise<Answer> {
    if (this.state !== "ready") return Promise.reject(new Error(this.why || gone()));
    return this.requests.ask(asked, progress);
  }

  dispose(): void {
    this.lost("dead", gone());
    Signal.clearData(this);
  }

  private async connect(): Promise<void> {
    const round = ++this.round;
    const mine = () => round === this.round;
    if (this.state !== "ready") this.become("connecting", this.why);
    try {
      const hub = await findHub(this.kernel, () => mine() && this.become("busy", busy()));
      if (!mine()) return;
      if (hub === null) this.become("absent", this.why === restarted() ? this.why : "");
      else {
        if (!this.kernel.hasComm(hub)) this.follow(this.kernel.createComm(HUB, hub));
        await this.list(mine);
      }
    } catch (error) {
      if (mine()) this.become("unknown", (error as Error).message);
    }
  }

  /** A hub that begins, or begins to tell again, says all there is. */
  private readonly opened = (comm: Kernel.IComm, message: KernelMessage.ICommOpenMsg): void => {
    this.round += 1;
    this.follow(comm);
    this.begin(message.content.data as unknown as Listing);
  };

  private follow(comm: Kernel.IComm): void {
    comm.onMsg = (message) => this.hear(message.content.data as unknown as HubMessage);
    // A front end that knows nothing of hubs may have closed it: the hub opens another with its next message.
    comm.onClose = () => {};
    quiet(comm);
  }

  private hear(message: HubMessage): void {
    const refusal = mismatch(message);
    if (refusal) this.lost("refused", refusal);
    else if (!this.ledger.take(message)) void this.refresh();
    else if (this.state === "ready") this.changed.emit();
  }

  /** After a gap: what is shown stays until the list is there. */
  private async refresh(): Promise<void> {
    if (this.state !== "ready") return;
    const round = this.round;
    try {
      await this.list(() => round === this.round);
    } catch {
      if (round === this.round) void this.connect();
    }
  }

  private async list(mine: () => boolean): Promise<void> {
    const { list } = await this.requests.ask({ action: "list" }, (text) => {
      if (mine() && this.state !== "ready") this.become("busy", text);
    });
    if (mine() && list) this.begin(list);
  }

  private begin(listing: Listing): void {
    const refusal = mismatch(listing);
    if (refusal) {
      this.lost("refused", refusal);
      return;
    }
    const whole = this.ledger.begin(listing);
    this.become("ready", "");
    if (!whole) void this.refresh();
  }

  private statusChanged(_: Kernel.IKernelConnection, status: Kernel.Status): void {
    if (status === "busy") this.live.begin();
    if (status === "restarting" || status === "autorestarting") {
      this.lost("connecting", this.entries.length ? restarted() : this.why);
    } else if (status === "dead") {
      this.lost("dead", trans.__("The kernel died. Restart it to continue."));
    }
  }

  private connectionChanged(_: Kernel.IKernelConnection, status: Kernel.ConnectionStatus): void {
    if (status !== "connected") return;
    if (this.state === "ready") void this.refresh();
    else void this.connect();
  }

  /** Nothing that was known of the kernel holds any more. */
  private lost(state: State, why: string): void {
    this.round += 1;
    this.channel.forget();
    this.live.end();
    this.ledger.clear();
    this.become(state, why);
    this.requests.fail(why || gone());
  }

  private become(state: State, why: string): void {
    this.state = state;
    this.why = why;
    this.changed.emit();
  }
}

/** JupyterLab begins a subshell for every comm; where that fails nobody else would hear of it. */
function quiet(comm: Kernel.IComm & { subshellStarted?: Promise<void> }): void {
  comm.subshellStarted?.catch(() => {});
}

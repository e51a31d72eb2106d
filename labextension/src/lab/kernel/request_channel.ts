/** The comm on which this page asks. On a subshell, where the kernel has them: it answers while a cell runs. */

import type { Kernel } from "@jupyterlab/services";
import { type Answer, type Progress, REQUESTS, type Refusal, type Request } from "./messages";
import { pageTime } from "./page_time";
import { beginSubshell, sendTo } from "./subshell";

type Comm = Kernel.IComm & { subshellStarted?: Promise<void> };
type Heard = (message: Answer | Refusal | Progress) => void;

/** Milliseconds that a subshell may take to begin; without one, answers come when the cell ends. */
const BEGUN = 3_000;
/** Milliseconds in which a kernel that has nothing else to do says what it can. */
const QUICK = 300;

export class RequestChannel {
  private comm: Comm | null = null;
  /** Our own, where the kernel was too busy to tell JupyterLab that it has some. */
  private beside: string | null = null;
  private opened: Promise<Comm> | null = null;

  constructor(
    private readonly kernel: Kernel.IKernelConnection,
    private readonly heard: Heard,
    /** The kernel closed it: it has no hub. */
    private readonly closed: () => void,
  ) {}

  /** Whether questions are answered while a cell runs. */
  get subshell(): boolean {
    return this.beside !== null || Boolean(this.kernel.supportsSubshells);
  }

  readonly send = async (request: Request): Promise<void> => {
    this.opened ??= this.open();
    const comm = await this.opened;
    const content = { comm_id: comm.commId, data: { ...request } };
    if (this.beside === null) comm.send(content.data);
    else sendTo(this.kernel, this.beside, "comm_msg", content);
  };

  /** The kernel is another now: the next question opens a channel of its own. */
  forget(): void {
    this.comm = this.opened = this.beside = null;
  }

  private async open(): Promise<Comm> {
    const comm: Comm = this.kernel.createComm(REQUESTS);
    this.comm = comm;
    comm.onMsg = (message) => this.heard(message.content.data as never);
    comm.onClose = () => {
      if (this.comm !== comm) return;
      this.forget();
      this.closed();
    };
    comm.subshellStarted?.catch(() => {}); // Nobody else would hear of it.
    if (!(await within(this.kernel.info, QUICK))) this.beside = await beginSubshell(this.kernel);
    if (this.beside !== null) {
      const content = { comm_id: comm.commId, target_name: REQUESTS, data: {} };
      sendTo(this.kernel, this.beside, "comm_open", content);
      return comm;
    }
    // Never settled where the kernel has no subshells.
    if (this.kernel.supportsSubshells && comm.subshellStarted)
      await within(comm.subshellStarted, BEGUN);
    comm.open({});
    return comm;
  }
}

/** Whether it came in time; a failure is no answer either. */
function within(promise: Promise<unknown>, most: number): Promise<boolean> {
  const late = pageTime(most).then(() => false);
  const came = promise.then(
    () => true,
    () => false,
  );
  return Promise.race([came, late]);
}

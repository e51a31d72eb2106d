/**
 * A thread of the kernel's that answers while its main thread runs a cell.
 *
 * JupyterLab makes one for each comm, but only once the kernel said what it can, and after a reload a kernel that runs
 * a cell says nothing. So these messages are our own; a kernel without subshells does not answer the first.
 */

import { type Kernel, KernelMessage } from "@jupyterlab/services";
import { pageTime } from "./page_time";

/** Milliseconds that a subshell may take to begin. */
const BEGUN = 3_000;

/** Its id; null where the kernel has none. */
export async function beginSubshell(kernel: Kernel.IKernelConnection): Promise<string | null> {
  const future = kernel.sendControlMessage(
    made(kernel, "control", "create_subshell_request", {}),
    true,
  );
  const enough = pageTime(BEGUN).then(() => null);
  const reply = await Promise.race([future.done, enough]);
  if (reply === null) future.dispose();
  const id = (reply?.content as { subshell_id?: unknown } | undefined)?.subshell_id;
  return typeof id === "string" ? id : null;
}

export function endSubshell(kernel: Kernel.IKernelConnection, subshell: string): void {
  if (kernel.isDisposed) return;
  const content = { subshell_id: subshell };
  kernel.sendControlMessage(made(kernel, "control", "delete_subshell_request", content), false);
}

/** `reply`: whether there is one to wait for. */
export function sendTo(
  kernel: Kernel.IKernelConnection,
  subshell: string,
  msgType: "comm_info_request" | "comm_open" | "comm_msg",
  content: object,
  reply = false,
): Kernel.IShellFuture {
  const message: KernelMessage.IShellMessage = made(kernel, "shell", msgType, content);
  Object.assign(message.header, { subshell_id: subshell });
  return kernel.sendShellMessage(message, reply);
}

/** Of a type that this JupyterLab, or an older one, may not know. */
function made(
  kernel: Kernel.IKernelConnection,
  channel: "shell" | "control",
  msgType: string,
  content: object,
): never {
  const { username, clientId: session } = kernel;
  const options = { msgType, channel, username, session, content };
  return KernelMessage.createMessage(options as never) as never;
}

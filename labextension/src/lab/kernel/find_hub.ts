/** Finding a hub that began before this page did. */

import type { Kernel } from "@jupyterlab/services";
import { HUB } from "./messages";
import { pageTime } from "./page_time";
import { beginSubshell, endSubshell, sendTo } from "./subshell";

/** Milliseconds until a kernel that does not answer is taken to run a cell. */
const QUICK = 300;

/** The hub's comm, null where there is none. `waits`: nothing is known until the running cell ends. */
export async function findHub(
  kernel: Kernel.IKernelConnection,
  waits: () => void,
): Promise<string | null> {
  const plain = kernel.requestCommInfo({ target_name: HUB }).then(hubIn);
  const late = pageTime(QUICK);
  const quick = await Promise.race([plain, late]);
  if (quick !== undefined) return quick;
  const failed = beside(kernel).catch(() => {
    waits();
    return plain;
  });
  return Promise.race([plain, failed]);
}

/** Rejects where the kernel has no subshells. */
async function beside(kernel: Kernel.IKernelConnection): Promise<string | null> {
  const subshell = await beginSubshell(kernel);
  if (subshell === null) throw new Error("no subshells");
  try {
    const content = { target_name: HUB };
    const reply = await sendTo(kernel, subshell, "comm_info_request", content, true).done;
    return hubIn(reply as never);
  } finally {
    endSubshell(kernel, subshell);
  }
}

function hubIn(reply: {
  content: { status: string; comms?: Record<string, { target_name: string }> };
}): string | null {
  const comms = Object.entries(reply.content.comms ?? {});
  return comms.filter(([, comm]) => comm.target_name === HUB).at(-1)?.[0] ?? null;
}

/** Whether each cell of a kernel is inspected. */

import type { IClient } from "../api";
import { trans } from "../i18n";

/** Rejects with one line to show. */
export async function switchEvery(client: IClient | null, on: boolean): Promise<void> {
  if (!client || client.state === "absent" || client.state === "dead") {
    throw new Error(trans.__("Run `%load_ext autograd_inspector` in this notebook first"));
  }
  await client.ask({ action: "every", on });
}

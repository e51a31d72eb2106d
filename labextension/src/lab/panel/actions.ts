/** What the user may do with captures of the current kernel; every failure is one line in the panel. */

import { Dialog, showDialog } from "@jupyterlab/apputils";
import type { IClient, RequestBody } from "../api";
import { trans } from "../i18n";
import type { Clients } from "../kernel/clients";
import type { Entry } from "../kernel/messages";
import type { Notice } from "./notice";
import { nameOf } from "./words";

export class Actions {
  constructor(
    private readonly clients: Clients,
    private readonly notice: Notice,
  ) {}

  entry(id: string): Entry | undefined {
    return this.clients.current?.entries.find((entry) => entry.id === id);
  }

  rename(id: string, name: string): Promise<unknown> {
    return this.ask(trans.__("renaming"), { action: "rename", captures: [id], name });
  }

  pin(id: string): Promise<unknown> {
    return this.ask(trans.__("pinning"), {
      action: "pin",
      captures: [id],
      on: !this.entry(id)?.pinned,
    });
  }

  /** Only what the user wanted to keep is asked about. */
  async remove(id: string): Promise<unknown> {
    const entry = this.entry(id);
    const client = this.clients.current;
    if (entry?.pinned) {
      const question = trans.__("Delete %1, which is pinned?", nameOf(entry));
      if (!(await sure(question, trans.__("Delete")))) return;
    }
    return this.ask(trans.__("deleting"), { action: "delete", captures: [id] }, client);
  }

  async clear(): Promise<unknown> {
    const client = this.clients.current;
    const loose = client?.entries.filter((entry) => !entry.pinned).length ?? 0;
    if (!loose) return;
    const question = trans._n(
      "Delete %1 capture? Pinned ones stay.",
      "Delete %1 captures? Pinned ones stay.",
      loose,
    );
    if (!(await sure(question, trans.__("Clear")))) return;
    return this.ask(trans.__("clearing"), { action: "clear" }, client);
  }

  /** End the recording of the cell that runs; the cell goes on. */
  stop(): Promise<unknown> {
    return this.ask(trans.__("stopping"), { action: "stop" });
  }

  /** null when it failed. */
  ask(doing: string, asked: RequestBody, client: IClient | null = this.clients.current) {
    return this.notice.during(doing, (at) => {
      if (!client) throw new Error(trans.__("no kernel"));
      return client.ask(asked, at);
    });
  }
}

async function sure(question: string, label: string): Promise<boolean> {
  const buttons = [Dialog.cancelButton(), Dialog.warnButton({ label })];
  const { button } = await showDialog({ title: question, buttons });
  return button.accept;
}

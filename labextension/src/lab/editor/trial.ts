/** After an edit was made and run: the page says whether its finding is gone. */

import { Notification } from "@jupyterlab/apputils";
import { announce } from "../announce";
import type { IClient } from "../api";
import type { Entry } from "../kernel/messages";
import { compared } from "./outcome";

/** For the kernel's word of the new capture, after its cell ended. */
const PATIENCE = 5_000;
const SHOWN = 8_000;

/** What was known of a cell before it ran again; `tell()` waits for what is known then. */
export class Trial {
  private readonly before: Entry | undefined;
  private readonly known: ReadonlySet<string>;

  constructor(
    private readonly client: IClient | null,
    private readonly rule: string,
    private readonly cellId: string,
  ) {
    this.before = client?.entries.find(({ cell_id }) => cell_id === cellId);
    this.known = new Set(client?.entries.map(({ id }) => id));
  }

  async tell(): Promise<void> {
    const { gone, text } = compared(this.rule, this.before, await this.after());
    announce(text);
    if (gone) Notification.success(text, { autoClose: SHOWN });
    else Notification.warning(text, { autoClose: SHOWN });
  }

  private after(): Promise<Entry | null> {
    const { client } = this;
    const found = () =>
      client?.entries.find(({ id, cell_id }) => cell_id === this.cellId && !this.known.has(id));
    if (!client) return Promise.resolve(null);
    return new Promise((resolve) => {
      const done = (entry: Entry | null) => {
        clearTimeout(timer);
        client.changed.disconnect(look);
        resolve(entry);
      };
      const look = () => {
        const entry = found();
        if (entry) done(entry);
      };
      const timer = setTimeout(() => done(null), PATIENCE);
      client.changed.connect(look);
      look();
    });
  }
}

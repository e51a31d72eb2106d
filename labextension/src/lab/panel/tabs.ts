/** Captures in tabs of the main area. One tab a capture; it goes with its capture. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { MainAreaWidget } from "@jupyterlab/apputils";
import type { Widget } from "@lumino/widgets";
import { trans } from "../i18n";
import type { Client } from "../kernel/client";
import { nameOfChosen } from "./chosen";
import { inspectorIcon } from "./icon";

interface Tab {
  widget: MainAreaWidget;
  client: Client;
  captures: string[];
}

export class Tabs {
  private readonly tabs = new Map<string, Tab>();

  constructor(private readonly shell: JupyterFrontEnd.IShell) {}

  /** Bring the tab of these captures to the front, if there is one. */
  front(captures: string[]): boolean {
    const tab = this.tabs.get(captures.join());
    if (tab) this.shell.activateById(tab.widget.id);
    return tab !== undefined;
  }

  open(client: Client, captures: string[], content: Widget, name: string): void {
    const key = captures.join();
    if (this.front(captures)) {
      content.dispose();
      return;
    }
    content.addClass("agi-tab");
    const widget = new MainAreaWidget({ content });
    widget.id = `autograd-inspector-${key}`;
    widget.title.label = name;
    widget.title.caption = trans.__("Autograd capture: %1", name);
    widget.title.icon = inspectorIcon;
    widget.title.closable = true;
    this.tabs.set(key, { widget, client, captures });
    widget.disposed.connect(() => this.tabs.delete(key));
    this.shell.add(widget, "main", { mode: "tab-after" });
    this.shell.activateById(widget.id);
  }

  /** Close what the kernel no longer has, and follow names. */
  update(): void {
    for (const { widget, client, captures } of [...this.tabs.values()]) {
      const ids = new Set(client.entries.map((entry) => entry.id));
      if (captures.every((id) => ids.has(id)))
        widget.title.label = nameOfChosen({ client, captures });
      else widget.dispose();
    }
  }
}

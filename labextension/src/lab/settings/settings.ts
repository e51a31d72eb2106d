/** The user's settings: to the page as attributes, to each kernel as a request. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import type { IClient } from "../api";
import { IInspector } from "../api";
import { clientOf } from "../kernel/kernels";
import { Alarm } from "../panel/alarm";
import { attributesOf, configuring, DEFAULTS, type Preferences, preferences } from "./appearance";
import { chosen } from "./chosen";

/** Also the name of the schema's file. */
export const SETTINGS = "autograd-inspector:plugin";

/** Tells kernels; each once, and again when settings change or it was restarted. */
class Configurator {
  private chosen: Preferences | null = null;
  private readonly told = new WeakMap<IClient, string>();

  constructor(
    private readonly inspector: IInspector,
    private readonly tracker: INotebookTracker,
  ) {
    inspector.changed.connect(this.tell, this);
  }

  choose(chosen: Preferences): void {
    this.chosen = chosen;
    this.tell();
  }

  private tell(): void {
    this.tracker.forEach((panel) => {
      const client = clientOf(this.inspector, panel);
      if (client) this.configure(client);
    });
  }

  private configure(client: IClient): void {
    if (client.state !== "ready" && client.state !== "busy") {
      this.told.delete(client);
      return;
    }
    const { chosen } = this;
    if (!chosen || !client.settings) return;
    const text = JSON.stringify(configuring(chosen));
    if (this.told.get(client) === text) return;
    const first = !this.told.has(client);
    this.told.set(client, text);
    const { keep, values } = client.settings;
    if (first && keep === chosen.keep && values === chosen.values) return;
    client.ask(configuring(chosen)).catch(() => this.told.delete(client));
  }
}

function apply(chosen: Preferences): void {
  for (const [name, value] of Object.entries(attributesOf(chosen))) {
    if (value === null) document.documentElement.removeAttribute(name);
    else document.documentElement.setAttribute(name, value);
  }
}

export const settingsPlugin: JupyterFrontEndPlugin<void> = {
  id: SETTINGS,
  description: "The settings of the autograd inspector.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [ISettingRegistry],
  async activate(
    _app: JupyterFrontEnd,
    inspector: IInspector,
    tracker: INotebookTracker,
    registry: ISettingRegistry | null,
  ): Promise<void> {
    const kernels = new Configurator(inspector, tracker);
    const alarm = new Alarm(inspector);
    const read = (composite: Readonly<Record<string, unknown>>) => {
      chosen.now = preferences(composite);
      alarm.on = chosen.now.openOnError;
      apply(chosen.now);
      kernels.choose(chosen.now);
    };
    if (!registry) {
      read({ ...DEFAULTS });
      return;
    }
    const settings = await registry.load(SETTINGS);
    settings.changed.connect(() => read(settings.composite));
    read(settings.composite);
  },
};

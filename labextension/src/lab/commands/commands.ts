/** The commands, in the palette under one name. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import type { ReadonlyPartialJSONObject } from "@lumino/coreutils";
import { refuse } from "../announce";
import { IInspector } from "../api";
import { category, speak } from "../i18n";
import { currentClient } from "../kernel/kernels";
import { switchEvery } from "./every";
import { exportCapture, FORMATS, formatOf } from "./export";
import { toggleHeader } from "./inspect_cell";
import { step } from "./step";

export const Commands = {
  cell: "autograd-inspector:inspect-cell",
  every: "autograd-inspector:inspect-every",
  next: "autograd-inspector:next-finding",
  previous: "autograd-inspector:previous-finding",
  export: "autograd-inspector:export",
} as const;

const NOTHING = { args: { type: "object", properties: {} } } as const;
const EXPORT = {
  args: {
    type: "object",
    properties: {
      format: {
        type: "string",
        enum: Object.keys(FORMATS),
        description: "If it is missing, a dialog asks for it.",
      },
      capture: { type: "string", description: "If it is missing, the newest one." },
    },
  },
} as const;

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:commands",
  description: "Commands: inspect cells, go from finding to finding, export.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [ICommandPalette, ITranslator],
  activate(
    app: JupyterFrontEnd,
    inspector: IInspector,
    tracker: INotebookTracker,
    palette: ICommandPalette | null,
    translator: ITranslator | null,
  ): void {
    const trans = speak(translator);
    const { commands } = app;
    const client = () => currentClient(inspector, tracker);
    const inNotebook = () => tracker.currentWidget !== null;
    const every = () => client()?.settings?.every ?? false;
    const go = (way: 1 | -1) => step(app, inspector, tracker, way).catch(refuse);
    commands.addCommand(Commands.cell, {
      label: trans.__("Inspect This Cell"),
      caption: trans.__("Add or remove %1 on top of the active cell", "%%autograd_inspect"),
      describedBy: NOTHING,
      isEnabled: inNotebook,
      execute: () => toggleHeader(tracker),
    });
    commands.addCommand(Commands.every, {
      label: trans.__("Inspect Every Cell"),
      caption: trans.__("Inspect each cell that runs in this kernel"),
      describedBy: NOTHING,
      isEnabled: inNotebook,
      isToggleable: true,
      isToggled: every,
      execute: () => switchEvery(client(), !every()).catch(refuse),
    });
    commands.addCommand(Commands.next, {
      label: trans.__("Next Finding"),
      caption: trans.__("Move the cursor to the next line that a finding names"),
      describedBy: NOTHING,
      isEnabled: inNotebook,
      execute: () => go(1),
    });
    commands.addCommand(Commands.previous, {
      label: trans.__("Previous Finding"),
      caption: trans.__("Move the cursor to the previous line that a finding names"),
      describedBy: NOTHING,
      isEnabled: inNotebook,
      execute: () => go(-1),
    });
    const entryOf = ({ capture }: ReadonlyPartialJSONObject) =>
      client()?.entries.find(({ id }, nth) => (capture === undefined ? nth === 0 : id === capture));
    commands.addCommand(Commands.export, {
      label: ({ format }) => {
        const chosen = formatOf(format);
        return chosen ? FORMATS[chosen].label : trans.__("Export a Capture…");
      },
      caption: trans.__("Save the newest capture of this notebook as a file"),
      describedBy: EXPORT,
      isEnabled: (args) => entryOf(args) !== undefined,
      execute: async (args) => {
        const [from, entry] = [client(), entryOf(args)];
        if (!from || !entry) refuse(trans.__("There is no such capture to export"));
        else await exportCapture(from, entry, formatOf(args.format)).catch(refuse);
      },
    });
    for (const command of Object.values(Commands)) {
      palette?.addItem({ command, category: category() });
    }
    const changed = () => commands.notifyCommandChanged();
    inspector.changed.connect(changed);
    tracker.currentChanged.connect(changed);
  },
};

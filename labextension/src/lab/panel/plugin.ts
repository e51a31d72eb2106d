/** The panel, in JupyterLab. */

import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { type ConsolePanel, IConsoleTracker } from "@jupyterlab/console";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import { IInspector, SHOW_PANEL } from "../api";
import { category, speak } from "../i18n";
import { Inspector } from "../inspector";
import { Clients } from "../kernel/clients";
import { Actions } from "./actions";
import { Notice } from "./notice";
import { InspectorPanel } from "./panel";
import { addCommands, rowMenu } from "./row_menu";
import { Tabs } from "./tabs";

export const panelPlugin: JupyterFrontEndPlugin<IInspector> = {
  id: "autograd-inspector:panel",
  description: "The autograd captures of the active notebook's kernel, in the right sidebar.",
  autoStart: true,
  provides: IInspector,
  requires: [INotebookTracker],
  optional: [IConsoleTracker, ILabShell, ILayoutRestorer, ICommandPalette, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    consoles: IConsoleTracker | null,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null,
  ): IInspector => {
    const trans = speak(translator);
    const clients = followed(app, notebooks, consoles);
    const notice = new Notice();
    const actions = new Actions(clients, notice);
    const { commands } = app;
    const panel = new InspectorPanel({
      clients,
      actions,
      notice,
      tabs: new Tabs(app.shell),
      menu: (id, x, y) => rowMenu(commands, id, x, y),
    });
    app.shell.add(panel, "right", { rank: 850, type: trans.__("Autograd inspector") });
    restorer?.add(panel, panel.id);
    commands.addCommand(SHOW_PANEL, {
      label: trans.__("Show the Autograd Inspector"),
      describedBy: { args: { type: "object", properties: {} } },
      execute: () => {
        labShell?.expandRight();
        app.shell.activateById(panel.id);
      },
    });
    for (const command of [SHOW_PANEL, ...addCommands(commands, panel, actions)]) {
      palette?.addItem({ command, category: category() });
    }
    return new Inspector(clients, async (id) => {
      await commands.execute(SHOW_PANEL);
      await panel.choose([id]);
    });
  },
};

/** Kernels of every notebook and console, and the one that is looked at. */
function followed(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  consoles: IConsoleTracker | null,
): Clients {
  const clients = new Clients();
  const look = () => clients.look(app.shell.currentWidget);
  const notebook = (widget: NotebookPanel) => {
    const { sessionContext: context, content } = widget;
    clients.watch({ widget, context, rendermime: content.rendermime });
    look();
  };
  const console = (widget: ConsolePanel) => {
    const { sessionContext: context, rendermime } = widget.console;
    clients.watch({ widget, context, rendermime });
    look();
  };
  notebooks.forEach(notebook);
  notebooks.widgetAdded.connect((_, widget) => notebook(widget));
  consoles?.forEach(console);
  consoles?.widgetAdded.connect((_, widget) => console(widget));
  app.shell.currentChanged?.connect(look);
  return clients;
}

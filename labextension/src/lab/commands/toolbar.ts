/** In each notebook's toolbar: inspect every cell, as its own kernel has it. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { IToolbarWidgetRegistry } from "@jupyterlab/apputils";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import { ToolbarButton } from "@jupyterlab/ui-components";
import { refuse } from "../announce";
import { IInspector } from "../api";
import { speak, trans } from "../i18n";
import { clientOf } from "../kernel/kernels";
import { inspectorIcon } from "../panel/icon";
import { switchEvery } from "./every";

/** The name that the settings' toolbar has for it. */
const ITEM = "autograd-inspector-every";

/** Pressed when the kernel says so, never by the click itself. */
class EveryButton extends ToolbarButton {
  constructor(
    private readonly inspector: IInspector,
    private readonly panel: NotebookPanel,
  ) {
    super({
      icon: inspectorIcon,
      pressed: false,
      tooltip: trans.__("Inspect every cell with autograd_inspector"),
      pressedTooltip: trans.__("Every cell is inspected: click to stop"),
      onClick: () => this.flip(),
    });
    this.addClass("agi-every");
    inspector.changed.connect(this.follow, this);
    panel.sessionContext.kernelChanged.connect(this.follow, this);
    this.follow();
  }

  private follow(): void {
    this.pressed = clientOf(this.inspector, this.panel)?.settings?.every ?? false;
  }

  private flip(): void {
    this.follow(); // The click has pressed it already; the kernel has not spoken yet.
    const client = clientOf(this.inspector, this.panel);
    void switchEvery(client, !(client?.settings?.every ?? false)).catch(refuse);
  }

  override dispose(): void {
    this.inspector.changed.disconnect(this.follow, this);
    super.dispose();
  }
}

export const toolbarPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:toolbar",
  description: "A switch in the notebook's toolbar: inspect every cell.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [IToolbarWidgetRegistry, ITranslator],
  activate(
    _app: JupyterFrontEnd,
    inspector: IInspector,
    _tracker: INotebookTracker,
    toolbars: IToolbarWidgetRegistry | null,
    translator: ITranslator | null,
  ): void {
    speak(translator);
    toolbars?.addFactory<NotebookPanel>(
      "Notebook",
      ITEM,
      (panel) => new EveryButton(inspector, panel),
    );
  },
};

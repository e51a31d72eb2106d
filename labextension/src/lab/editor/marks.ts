/** Marks in the cells of every open notebook, for as long as they tell what ran. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import type { CodeCell } from "@jupyterlab/cells";
import { INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import { IInspector } from "../api";
import { speak } from "../i18n";
import { clientOf, codeCells, viewOf } from "../kernel/kernels";
import { chosen } from "../settings/chosen";
import { show } from "./marks_field";
import { type MarkedLine, marksOf } from "./marks_of";

export function markedIn(
  inspector: IInspector,
  panel: NotebookPanel,
  cell: CodeCell,
): MarkedLine[] {
  const { model } = cell;
  const text = model.sharedModel.getSource();
  const facts = { id: model.id, count: model.executionCount, dirty: model.isDirty, text };
  return marksOf(clientOf(inspector, panel)?.entries ?? [], facts);
}

/** Keeps one notebook's editors in step; however much changes at once, they are looked at once. */
class Marker {
  private due = false;
  private readonly met = new WeakSet<CodeCell>();

  constructor(
    private readonly inspector: IInspector,
    private readonly panel: NotebookPanel,
  ) {
    panel.content.model?.cells.changed.connect(this.refresh, this);
    panel.content.modelChanged.connect(() => {
      panel.content.model?.cells.changed.connect(this.refresh, this);
      this.refresh();
    });
    panel.sessionContext.kernelChanged.connect(this.refresh, this);
    inspector.changed.connect(this.refresh, this);
    chosen.changed.connect(this.refresh, this);
    panel.disposed.connect(() => {
      inspector.changed.disconnect(this.refresh, this);
      chosen.changed.disconnect(this.refresh, this);
    });
    this.refresh();
  }

  refresh(): void {
    if (this.due) return;
    this.due = true;
    queueMicrotask(() => {
      this.due = false;
      if (!this.panel.isDisposed) codeCells(this.panel).forEach(this.mark, this);
    });
  }

  private mark(cell: CodeCell): void {
    this.meet(cell);
    const view = viewOf(cell);
    if (view) show(view, markedIn(this.inspector, this.panel, cell), chosen.now.reasons);
  }

  /** A cell far away has no editor before it comes near. */
  private meet(cell: CodeCell): void {
    if (this.met.has(cell)) return;
    this.met.add(cell);
    cell.model.stateChanged.connect(this.refresh, this);
    if (!viewOf(cell)) void cell.ready.then(() => this.refresh());
  }
}

export const marksPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:marks",
  description: "Marks the lines of cells that findings name.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [ITranslator],
  activate(
    _app: JupyterFrontEnd,
    inspector: IInspector,
    tracker: INotebookTracker,
    translator: ITranslator | null,
  ): void {
    speak(translator);
    const markers = new WeakMap<object, Marker>();
    const follow = (panel: NotebookPanel) =>
      markers.set(panel.content, new Marker(inspector, panel));
    tracker.forEach(follow);
    tracker.widgetAdded.connect((_, panel) => follow(panel));
    NotebookActions.executed.connect((_, { notebook }) => markers.get(notebook)?.refresh());
  },
};

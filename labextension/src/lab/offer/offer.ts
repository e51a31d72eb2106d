/** A cell failed by autograd and nobody looked: the panel offers to run it again with the inspector. */

import type { Cell } from "@jupyterlab/cells";
import { type INotebookTracker, type Notebook, NotebookActions } from "@jupyterlab/notebook";
import { type ISignal, Signal } from "@lumino/signaling";
import type { IInspector } from "../api";
import { adding, hasHeader } from "../commands/header";
import { apply } from "../commands/inspect_cell";
import { trans } from "../i18n";
import { clientOf } from "../kernel/kernels";
import { isAutogradError } from "./autograd_errors";

/** What can be offered now. */
export interface Offer {
  kernelId: string;
  /** "In [3]". */
  cell: string;
  /** The first line of the error. */
  error: string;
  /** Adds the header and runs the cell; rejects with one line to show. */
  run(): Promise<void>;
}

export class Offers {
  private offer: Offer | null = null;
  /** The one that failed. */
  private cell: Cell | null = null;
  private readonly signal = new Signal<this, Offer | null>(this);

  constructor(
    private readonly inspector: IInspector,
    private readonly tracker: INotebookTracker,
  ) {
    NotebookActions.executed.connect((_, { notebook, cell, success, error }) => {
      const text = error ? `${error.errorName}: ${error.errorValue}` : "";
      const offer = success ? null : this.offerFor(notebook, cell, text);
      // It stands until that cell runs again: the user may have to load the magics first.
      if (offer || cell === this.cell) this.set(offer, cell);
    });
  }

  /** null where there is nothing to offer. */
  get current(): Offer | null {
    return this.offer;
  }

  get changed(): ISignal<Offers, Offer | null> {
    return this.signal;
  }

  /** The user does not want it. */
  dismiss(): void {
    this.set(null);
  }

  private set(offer: Offer | null, cell: Cell | null = null): void {
    this.cell = offer && cell;
    if (offer === this.offer) return;
    this.offer = offer;
    this.signal.emit(offer);
  }

  private offerFor(notebook: Notebook, cell: Cell, error: string): Offer | null {
    const panel = this.tracker.find((one) => one.content === notebook);
    const kernelId = panel?.sessionContext.session?.kernel?.id;
    const source = cell.model.sharedModel.getSource();
    if (!panel || !kernelId || cell.model.type !== "code" || !isAutogradError(error)) return null;
    if (hasHeader(source) || clientOf(this.inspector, panel)?.settings?.every) return null;
    const count = (cell.model as { executionCount?: number | null }).executionCount;
    return {
      kernelId,
      cell: count ? `In [${count}]` : "",
      error: error.split("\n")[0]!,
      run: async () => {
        await this.requireMagic(kernelId);
        const edit = adding(cell.model.sharedModel.getSource());
        if (!edit) throw new Error(trans.__("This cell begins with another magic"));
        apply(cell.model.sharedModel, edit);
        this.dismiss();
        notebook.activeCellIndex = notebook.widgets.indexOf(cell);
        await NotebookActions.run(notebook, panel.sessionContext);
      },
    };
  }

  /** The hub may be there without the magics; asking for what is so already tells. */
  private async requireMagic(kernelId: string): Promise<void> {
    const client = this.inspector.clientOf(kernelId);
    if (!client?.settings) {
      throw new Error(trans.__("Run `%load_ext autograd_inspector` in this notebook first"));
    }
    if (!client.settings.every) await client.ask({ action: "every", on: false });
  }
}

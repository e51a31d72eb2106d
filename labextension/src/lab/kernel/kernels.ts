/** From a notebook or a console to what is known of its kernel. */

import type { ISessionContext } from "@jupyterlab/apputils";
import type { CodeCell } from "@jupyterlab/cells";
import type { CodeMirrorEditor } from "@jupyterlab/codemirror";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { IClient, IInspector } from "../api";

export function clientOf(
  inspector: IInspector,
  { sessionContext }: { sessionContext: ISessionContext },
): IClient | null {
  const id = sessionContext.session?.kernel?.id;
  return id ? inspector.clientOf(id) : null;
}

/** Of the notebook that the user is in. */
export function currentClient(inspector: IInspector, tracker: INotebookTracker): IClient | null {
  const panel = tracker.currentWidget;
  return panel ? clientOf(inspector, panel) : inspector.current;
}

export function codeCells(panel: NotebookPanel): CodeCell[] {
  return panel.content.widgets.filter((cell) => cell.model.type === "code") as CodeCell[];
}

/** null for a cell that was never drawn. */
export function viewOf(cell: CodeCell): CodeMirrorEditor["editor"] | null {
  return (cell.editor as CodeMirrorEditor | null)?.editor ?? null;
}

/** The fixes of one line, behind its light bulb: a menu, for pointer and keyboard alike. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import type { CodeCell } from "@jupyterlab/cells";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import { CommandRegistry } from "@lumino/commands";
import { Menu } from "@lumino/widgets";
import { editsFrom, type Wish } from "../../state/edits";
import { announce, refuse } from "../announce";
import { IInspector } from "../api";
import { category, speak, trans } from "../i18n";
import { clientOf, viewOf } from "../kernel/kernels";
import type { Mark } from "../kernel/messages";
import { FIXES, type FixesAsked } from "./bulb";
import { markedIn } from "./marks";
import { fixesOf } from "./marks_of";

const COMMAND = "autograd-inspector:quick-fix";

export const quickFixPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:quick-fix",
  description: "Offers the fixes of a marked line.",
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
    speak(translator);
    const open = (panel: NotebookPanel, { marks, x, y, wish }: FixesAsked) => {
      const entries = clientOf(inspector, panel)?.entries ?? [];
      const inspected = (mark: Mark) => entries.find(({ marks }) => marks?.includes(mark))?.cell;
      const make = (mark: Mark, wish: Wish) =>
        fulfil(panel.node, mark, inspected(mark) ?? "", wish);
      if (wish) make(marks[0]!, wish);
      else menuOf(marks, make).open(x, y);
    };
    document.addEventListener(FIXES, (event) => {
      const panel = tracker.find(({ node }) => node.contains(event.target as Node));
      if (panel) open(panel, (event as CustomEvent<FixesAsked>).detail);
    });
    app.commands.addCommand(COMMAND, {
      label: trans.__("Fixes of This Line"),
      caption: trans.__("Preview or apply the fix of the finding at the cursor's line"),
      describedBy: { args: { type: "object", properties: {} } },
      isEnabled: () => tracker.currentWidget !== null,
      execute: () => {
        const found = atCursor(inspector, tracker);
        if (typeof found === "string") refuse(found);
        else open(tracker.currentWidget!, found);
      },
    });
    palette?.addItem({ command: COMMAND, category: category() });
  },
};

/** What is offered for the line of the cursor, and where that is; else why there is nothing. */
function atCursor(inspector: IInspector, tracker: INotebookTracker): FixesAsked | string {
  const { currentWidget: panel, activeCell } = tracker;
  const cell = activeCell?.model.type === "code" ? (activeCell as CodeCell) : null;
  const view = cell && viewOf(cell);
  if (!panel || !cell || !view) return trans.__("No cell with code is active");
  const { head } = view.state.selection.main;
  const line = view.state.doc.lineAt(head).number;
  const marked = markedIn(inspector, panel, cell);
  const here = marked.find((one) => one.line === line && fixesOf(one).length > 0);
  // A cell that is not being edited has no line of the cursor's.
  const chosen =
    here ??
    (panel.content.mode === "edit" ? undefined : marked.find((one) => fixesOf(one).length > 0));
  if (!chosen) return trans.__("No finding on this line has a fix that can be applied");
  const at = view.coordsAtPos(view.state.doc.line(chosen.line).from);
  const { left, top } = view.dom.getBoundingClientRect();
  return { marks: fixesOf(chosen), x: at?.left ?? left, y: at?.bottom ?? top };
}

/** `inspected`: the cell that shows whether the finding is gone. */
function fulfil(from: HTMLElement, mark: Mark, inspected: string, wish: Wish): void {
  const edits = editsFrom(from, () => ({ [mark.cell]: mark.cell_id }));
  const { rule, name, patch = "", unsafe = false } = mark;
  const refusal = edits.make({ rule, name, patch, unsafe, cell: inspected }, wish);
  if (refusal) refuse(refusal);
  else if (wish === "apply") announce(trans.__("Edit applied"));
}

function menuOf(marks: readonly Mark[], make: (mark: Mark, wish: Wish) => void): Menu {
  const commands = new CommandRegistry();
  const menu = new Menu({ commands });
  menu.addClass("agi-fixes-menu");
  marks.forEach((mark, n) => {
    const { rule } = mark;
    const labels: Record<Wish, string> = {
      preview: trans.__("Preview fix of %1 …", rule),
      apply: trans.__("Apply fix of %1", rule),
      run: trans.__("Apply fix of %1 and run", rule),
    };
    if (n) menu.addItem({ type: "separator" });
    for (const wish of ["preview", "apply", "run"] as const) {
      const command = `${wish}:${n}`;
      commands.addCommand(command, {
        label: labels[wish],
        describedBy: { args: { type: "object", properties: {} } },
        execute: () => make(mark, wish),
      });
      menu.addItem({ command });
    }
  });
  // A command runs after its menu closed.
  menu.aboutToClose.connect(() => setTimeout(() => menu.dispose()));
  return menu;
}

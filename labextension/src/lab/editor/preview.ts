/** "Preview fix": each cell as it is and as it would be, side by side, before anything is changed. */

import { MergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { Dialog } from "@jupyterlab/apputils";
import { type IEditorLanguageRegistry, jupyterTheme } from "@jupyterlab/codemirror";
import { Widget } from "@lumino/widgets";
import type { Fix, Wish } from "../../state/edits";
import { el } from "../../view/dom";
import { trans } from "../i18n";
import { colouring } from "./source_view";

/** A cell's text, and what becomes of it. */
export interface Pair {
  name: string;
  before: string;
  after: string;
}

const FEW = { margin: 3, minSize: 6 };

class Body extends Widget {
  private readonly views: MergeView[];

  constructor(fix: Fix, pairs: readonly Pair[], language: Extension) {
    super();
    this.addClass("agi-host");
    this.addClass("agi-preview");
    const caveat = fix.unsafe
      ? trans.__("Unsafe: it may change what the program does.")
      : trans.__("Safe: it changes nothing except the fault.");
    this.views = pairs.map(({ before, after }) => {
      const side = (doc: string, label: string) => ({ doc, extensions: shown(label, language) });
      return new MergeView({
        a: side(before, trans.__("Before, read-only")),
        b: side(after, trans.__("After, read-only")),
        collapseUnchanged: FEW,
      });
    });
    this.node.append(
      ...pairs.map(({ name }, n) =>
        el(
          "figure",
          {},
          el(
            "figcaption",
            {},
            el("span", {}, trans.__("%1 before", name)),
            el("span", {}, trans.__("%1 after", name)),
          ),
          this.views[n]!.dom,
        ),
      ),
      el("p", { class: "agi-preview-caveat" }, caveat),
    );
  }

  override dispose(): void {
    if (!this.isDisposed) for (const view of this.views) view.destroy();
    super.dispose();
  }
}

function shown(label: string, language: Extension): Extension {
  return [
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({ "aria-label": label }),
    EditorView.lineWrapping,
    lineNumbers(),
    jupyterTheme,
    language,
  ];
}

/** What the user wants then; null: nothing. */
export async function preview(
  fix: Fix,
  pairs: readonly Pair[],
  languages: IEditorLanguageRegistry | null,
): Promise<Exclude<Wish, "preview"> | null> {
  const body = new Body(fix, pairs, await colouring("cell.py", languages));
  const dialog = new Dialog<unknown>({
    title: trans.__("Fix of %1 %2", fix.rule, fix.name),
    body,
    buttons: [
      Dialog.cancelButton(),
      Dialog.createButton({ label: trans.__("Apply"), actions: ["apply"], accept: true }),
      Dialog.createButton({
        label: trans.__("Apply and Run"),
        actions: ["run"],
        accept: true,
      }),
    ],
    defaultButton: 1,
  });
  dialog.addClass("agi-preview-dialog");
  const { button } = await dialog.launch();
  if (!button.accept) return null;
  return button.actions.includes("run") ? "run" : "apply";
}

/** The text of a file that only the kernel can read: numbered, coloured, read-only. */

import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { MainAreaWidget } from "@jupyterlab/apputils";
import { type IEditorLanguageRegistry, jupyterTheme } from "@jupyterlab/codemirror";
import { pythonIcon } from "@jupyterlab/ui-components";
import { Widget } from "@lumino/widgets";
import { el } from "../../view/dom";
import { trans } from "../i18n";

export class SourceView extends Widget {
  readonly editor: EditorView;

  constructor(text: string, filename: string, language: Extension) {
    super();
    this.addClass("agi-source-view");
    this.editor = new EditorView({
      parent: this.node,
      doc: text,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": trans.__("%1, read-only", filename) }),
        lineNumbers(),
        jupyterTheme,
        language,
      ],
    });
  }

  override dispose(): void {
    if (!this.isDisposed) this.editor.destroy();
    super.dispose();
  }
}

/** In a tab of the main area. */
export async function sourceTab(
  text: string,
  filename: string,
  languages: IEditorLanguageRegistry | null,
): Promise<MainAreaWidget<SourceView>> {
  const content = new SourceView(text, filename, await colouring(filename, languages));
  const tab = new MainAreaWidget({ content });
  tab.title.label = filename.split(/[\\/]/).pop() ?? filename;
  tab.title.caption = trans.__("%1, read-only: the kernel's own copy", filename);
  tab.title.closable = true;
  tab.title.icon = pythonIcon;
  const where = new Widget({ node: el("p", { class: "agi-source-where" }, tab.title.caption) });
  tab.toolbar.addItem("where", where);
  return tab;
}

export async function colouring(
  filename: string,
  languages: IEditorLanguageRegistry | null,
): Promise<Extension> {
  const language = languages?.findByFileName(filename);
  if (!languages || !language) return [];
  return (await languages.getLanguage(language))?.support ?? [];
}

/** A line of a file: in an editor where the server reaches it, else as the kernel reads it. */

import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { MainAreaWidget } from "@jupyterlab/apputils";
import type { CodeMirrorEditor, IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { PageConfig } from "@jupyterlab/coreutils";
import type { Widget } from "@lumino/widgets";
import type { Target } from "../../state/reveal";
import type { IInspector } from "../api";
import { trans } from "../i18n";
import { flashLine } from "./flash";
import { belowRoot, isLibrary } from "./places";
import { type SourceView, sourceTab } from "./source_view";

/** What `docmanager:open` returns for a text file. */
type Opened = Widget & {
  context?: { ready: Promise<void> };
  content?: { editor?: CodeMirrorEditor };
};

export class Files {
  private readonly tabs = new Map<string, MainAreaWidget<SourceView>>();

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly inspector: IInspector,
    private readonly languages: IEditorLanguageRegistry | null,
  ) {}

  /** Rejects with one line to show. */
  async open(target: Target): Promise<void> {
    if (!(await this.inEditor(target))) await this.asSource(target);
  }

  private async inEditor({ filename, line }: Target): Promise<boolean> {
    const path = belowRoot(filename, PageConfig.getOption("serverRoot"));
    if (path === null || !(await this.reaches(path))) return false;
    const open = { path, factory: "Editor" };
    const opened: Opened | undefined = await this.app.commands.execute("docmanager:open", open);
    await opened?.context?.ready;
    const editor = opened?.content?.editor;
    if (!editor) return false;
    if (isLibrary(filename)) editor.setOption("readOnly", true);
    flashLine(editor.editor, line);
    return true;
  }

  /** Hidden folders, for one, are out of the server's reach. */
  private async reaches(path: string): Promise<boolean> {
    try {
      await this.app.serviceManager.contents.get(path, { content: false });
      return true;
    } catch {
      return false;
    }
  }

  private async asSource({ filename, line }: Target): Promise<void> {
    const client = this.inspector.current;
    if (!client) throw new Error(trans.__("No kernel has %1: run the cell again", filename));
    let tab = this.tabs.get(filename);
    if (!tab || tab.isDisposed) {
      const { text } = await client.ask({ action: "source", path: filename });
      tab = await sourceTab(text ?? "", filename, this.languages);
      this.tabs.set(filename, tab);
      this.app.shell.add(tab, "main");
    }
    this.app.shell.activateById(tab.id);
    flashLine(tab.content.editor, line);
  }
}

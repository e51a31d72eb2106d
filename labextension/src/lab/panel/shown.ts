/** The capture that the panel shows below its list. */

import { Panel, Widget } from "@lumino/widgets";
import { button, el } from "../../view/dom";
import { trans } from "../i18n";
import { FAILED } from "./rendered";

export interface ShownActions {
  openInTab(): void;
  close(): void;
}

export class Shown extends Panel {
  private readonly title_ = el("h2", { class: "agi-side-shown-title" });
  private content: Widget | null = null;

  constructor(actions: ShownActions) {
    super();
    this.addClass("agi-side-shown");
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", trans.__("Shown capture"));
    const open = button(trans.__("Open in a tab"), () => actions.openInTab());
    const close = button("✕", () => actions.close(), {
      "aria-label": trans.__("Close the shown capture"),
      title: trans.__("Close"),
    });
    const head = el("div", { class: "agi-side-shown-head" }, this.title_, open, close);
    this.addWidget(new Widget({ node: head }));
    this.hide();
  }

  /** Its widget was closed in the kernel, which hides it here, or could not be drawn. */
  get lost(): boolean {
    return !!this.content && (this.content.isHidden || this.content.hasClass(FAILED));
  }

  put(content: Widget, name: string): void {
    this.clear();
    this.content = content;
    this.name(name);
    this.addWidget(content);
    this.show();
  }

  name(name: string): void {
    this.title_.textContent = name;
    this.title_.title = name;
  }

  clear(): void {
    this.content?.dispose();
    this.content = null;
    this.hide();
  }
}

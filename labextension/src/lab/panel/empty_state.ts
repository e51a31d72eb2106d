/** What stands where the list would be: why it is empty, and what to do. */

import { copyButton } from "../../view/copy";
import { el, prose } from "../../view/dom";
import type { IClient } from "../api";
import { trans } from "../i18n";

/** What is known of the notebook or console that is looked at. */
export interface Looked {
  client: IClient | null;
  /** A notebook or console is open. */
  place: boolean;
  /** It has a kernel; null while that is being found out. */
  kernel: boolean | null;
  /** That kernel's language, "" while that is not known. */
  language: string;
}

const MAGIC = "%%autograd_inspect";
const INSTALL = ["%pip install autograd_inspector", "%load_ext autograd_inspector"];

/** null where there is a list to show. */
export function emptyState({ client, place, kernel, language }: Looked): HTMLElement | null {
  if (!place) {
    return message(
      trans.__("Open a notebook or a console: the captures of its kernel are listed here."),
    );
  }
  if (kernel === null) return message(connecting(), [], "waiting");
  if (!kernel) {
    return message(trans.__("This notebook has no kernel. Choose one to inspect its cells."));
  }
  if (!client) {
    return message(
      trans.__(
        "Another notebook of this page held this kernel's widgets and was closed. Reload the page to continue.",
      ),
    );
  }
  switch (client.state) {
    case "ready":
      return client.entries.length ? null : message(none(), [MAGIC]);
    case "absent":
      if (language && language !== "python")
        return message(
          trans.__("This kernel does not run Python: there is no autograd to inspect."),
        );
      return client.why
        ? message(trans.__("%1 Run a cell with `%2` again.", client.why, MAGIC))
        : message(absent(), INSTALL);
    case "unknown":
    case "connecting":
      return message(client.why || connecting(), [], "waiting");
    case "busy":
      return message(client.why, [], "waiting");
    default:
      return message(client.why, [], "alarm");
  }
}

const connecting = () => trans.__("Connecting to the kernel …");
const none = () => trans.__("No captures yet. Put `%1` on top of a cell and run it.", MAGIC);
const absent = () =>
  trans.__(
    "The inspector is not loaded in this kernel. In a cell, run the first line if it is not installed there, then the second.",
  );

function message(text: string, lines: string[] = [], kind = "plain"): HTMLElement {
  return el(
    "div",
    { class: `agi-side-empty agi-side-${kind}` },
    el("p", {}, prose(text)),
    ...lines.map((line) =>
      el("div", { class: "agi-side-line" }, el("code", {}, line), copyButton(line, line)),
    ),
  );
}

/**
 * In the status bar: how many findings the current notebook has, and which line to look at, wherever it is scrolled. In
 * Notebook 7, which has none, above the notebook.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { IStatusBar } from "@jupyterlab/statusbar";
import { ITranslator } from "@jupyterlab/translation";
import { Signal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";
import { counted } from "../../model/said";
import { SEVERITIES } from "../../model/severity";
import { el, fill } from "../../view/dom";
import { refuse } from "../announce";
import { type IClient, IInspector, SHOW_PANEL } from "../api";
import { shape } from "../editor/marks_dom";
import { answerOf, type Counts, countsOf, phraseOf, placeOf } from "../editor/marks_of";
import { revealMark } from "../editor/reveal_mark";
import { speak, trans } from "../i18n";
import { currentClient } from "../kernel/kernels";
import type { Mark } from "../kernel/messages";
import { inStatus } from "../panel/live_words";
import { leadTo } from "./lead";

/** "2 errors, 1 warning"; what is worth seeing counts only where nothing is wrong. */
export function countsInWords({ errors, warnings, infos }: Counts): string {
  const parts = [
    errors && counted(errors, "error"),
    warnings && counted(warnings, "warning"),
    infos && !errors && !warnings && trans.__("%1 info", infos),
  ].filter(Boolean);
  return parts.length ? parts.join(", ") : trans.__("no findings");
}

class Findings extends Widget {
  private readonly button: HTMLButtonElement;
  private readonly answer: HTMLButtonElement;
  private counts: Counts | null = null;
  private mark: Mark | null = null;
  private client: IClient | null = null;
  private recording = false;
  readonly activeChanged = new Signal<this, void>(this);

  constructor(
    private readonly inspector: IInspector,
    private readonly tracker: INotebookTracker,
    show: () => void,
    lead: (mark: Mark) => void,
  ) {
    super();
    this.button = el("button", { type: "button", class: "agi-host agi-findings-count" });
    this.button.addEventListener("click", show);
    this.answer = el("button", { type: "button", class: "agi-host agi-status-answer" });
    this.answer.addEventListener("click", () => this.mark && lead(this.mark));
    this.addClass("jp-mod-highlighted");
    this.addClass("agi-in-status-bar");
    this.node.append(this.button, this.answer);
    inspector.changed.connect(this.follow, this);
    tracker.currentChanged.connect(this.follow, this);
    this.follow();
  }

  /** A notebook without captures has no item. */
  get active(): boolean {
    return this.counts !== null || this.recording;
  }

  /** A strip that is there for it alone takes no room to say that all is well. */
  get telling(): boolean {
    return this.recording || this.mark !== null;
  }

  private follow(): void {
    const client = this.tracker.currentWidget ? currentClient(this.inspector, this.tracker) : null;
    if (client !== this.client) {
      this.client?.live.changed.disconnect(this.tell, this);
      client?.live.changed.connect(this.tell, this);
      this.client = client;
    }
    const counts = client?.entries.length ? countsOf(client.entries) : null;
    const mark = answerOf(client?.entries ?? []);
    if (mark === this.mark && JSON.stringify(counts) === JSON.stringify(this.counts)) return;
    this.counts = counts;
    this.mark = mark;
    this.tell();
  }

  /** While an inspected cell runs: how far it is. */
  private tell(): void {
    const live = this.client?.live.now;
    this.recording = !!live;
    if (live) this.say(...inStatus(live));
    else if (this.counts) this.draw(this.counts);
    this.answer.hidden = this.recording || !this.mark;
    if (this.mark) this.sayWhere(this.mark);
    this.activeChanged.emit();
  }

  private draw(counts: Counts): void {
    const worst = SEVERITIES.find((severity) => counts[`${severity}s`] > 0);
    const text = countsInWords(counts);
    this.say(worst ? shape(worst) : null, text);
    this.button.title = trans.__("Autograd inspector: %1 in this notebook. Show the panel", text);
    this.button.setAttribute("aria-label", this.button.title);
  }

  private sayWhere(mark: Mark): void {
    const { source, message } = mark;
    const place = source ? `${placeOf(mark)}: ${source}` : placeOf(mark);
    const text = `${phraseOf(mark)} · ${place}`;
    fill(this.answer, text);
    this.answer.title = trans.__("%1. Go to the line", message.replaceAll("`", ""));
    this.answer.setAttribute("aria-label", `${text}. ${this.answer.title}`);
  }

  private say(sign: SVGSVGElement | null, text: string): void {
    fill(this.button, sign, text);
    this.button.title = trans.__("Autograd inspector: %1. Show the panel", text);
    this.button.setAttribute("aria-label", this.button.title);
  }
}

export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:status",
  description: "The number of findings and the line of the gravest, in the status bar.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [IStatusBar, ITranslator],
  activate(
    app: JupyterFrontEnd,
    inspector: IInspector,
    tracker: INotebookTracker,
    bar: IStatusBar | null,
    translator: ITranslator | null,
  ): void {
    speak(translator);
    const show = () => void app.commands.execute(SHOW_PANEL);
    const lead = async (mark: Mark) => {
      const panel = tracker.currentWidget;
      if (mark.path) revealMark(mark);
      else if (!panel || !(await leadTo(app, inspector, panel, mark))) show();
    };
    const item = new Findings(inspector, tracker, show, (mark) => void lead(mark).catch(refuse));
    if (!bar) {
      tracker.forEach((panel) => void above(panel, item));
      tracker.widgetAdded.connect((_, panel) => above(panel, item));
      return;
    }
    bar.registerStatusItem("autograd-inspector:status", {
      item,
      align: "left",
      rank: 5,
      isActive: () => item.active,
      activeStateChanged: item.activeChanged,
    });
  },
};

/** Where a page has one notebook, and no status bar. */
function above(panel: NotebookPanel, item: Findings): void {
  if (item.parent) return;
  item.addClass("agi-above-notebook");
  const show = () => item.setHidden(!item.telling);
  item.activeChanged.connect(show);
  panel.contentHeader.addWidget(item);
  show();
}

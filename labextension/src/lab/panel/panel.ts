/** The panel: the captures of the kernel that the user looks at, and one of them. */

import { Panel, Widget } from "@lumino/widgets";
import { button, el, fill } from "../../view/dom";
import { followTheme } from "../../view/theme";
import { PANEL_ID } from "../api";
import { trans } from "../i18n";
import type { Client } from "../kernel/client";
import type { Clients } from "../kernel/clients";
import type { Actions } from "./actions";
import { type Chosen, inOrder, isSame, nameOfChosen } from "./chosen";
import { emptyState } from "./empty_state";
import { EntryList } from "./entry_list";
import { inspectorIcon } from "./icon";
import { LiveRow } from "./live_row";
import type { Notice } from "./notice";
import { rendered } from "./rendered";
import { Shown } from "./shown";
import { ReportSplit } from "./split_panel";
import { badge } from "./tab_badge";
import type { Tabs } from "./tabs";
import { nameOf } from "./words";

export interface PanelParts {
  clients: Clients;
  actions: Actions;
  notice: Notice;
  tabs: Tabs;
  menu(id: string, x: number, y: number): void;
}

export class InspectorPanel extends Panel {
  private readonly list: EntryList;
  private readonly shown: Shown;
  private readonly heading = el("div", { class: "agi-side-heading" });
  private readonly empty = el("div");
  private readonly clear: HTMLButtonElement;
  /** What each kernel's captures were left at: one, or two compared. */
  private readonly chosen = new WeakMap<Client, string[]>();
  /** Whose captures are shown below. */
  private drawn: Chosen | null = null;
  /** The first of two to compare. */
  private first: string | null = null;
  /** What is being loaded. */
  private wanted: Chosen | null = null;
  private readonly halves: ReportSplit;

  constructor(private readonly parts: PanelParts) {
    super();
    const { actions, clients, notice } = parts;
    this.id = PANEL_ID;
    this.addClass("agi-side");
    this.title.icon = inspectorIcon;
    this.title.caption = trans.__("Autograd inspector");
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", trans.__("Autograd inspector"));
    this.list = new EntryList({
      pick: (id, beside) => void this.pick(id, beside),
      menu: parts.menu,
      rename: (id, name) => void actions.rename(id, name),
      remove: (id) => void actions.remove(id),
    });
    this.shown = new Shown({
      openInTab: () => this.drawn && void this.openInTab(this.drawn.captures),
      close: () => this.close_(),
    });
    this.clear = button(trans.__("Clear"), () => void actions.clear(), {
      title: trans.__("Delete all except pinned"),
    });
    const live = new LiveRow(clients, () => void actions.stop());
    const head = el("div", { class: "agi-side-head" }, this.heading, this.clear);
    const scroll = el("div", { class: "agi-side-scroll" }, this.list.node, this.empty);
    const top = new Widget({
      node: el("div", { class: "agi-side-top" }, head, live.node, notice.node, scroll),
    });
    const needed = () => scroll.offsetTop + this.list.node.offsetHeight + this.empty.offsetHeight;
    this.halves = new ReportSplit(top, this.shown, needed);
    this.addWidget(this.halves);
    this.disposed.connect(followTheme(this.node));
    clients.changed.connect(this.update_, this);
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.first) this.compareWith(null);
    });
    this.update_();
  }

  /** The capture shown, null for none or a comparison. */
  get capture(): string | null {
    const captures = this.drawn?.captures ?? [];
    return captures.length === 1 ? captures[0]! : null;
  }

  edit(id: string): void {
    this.list.edit(id);
  }

  /** The next capture that the user picks is compared with this one; null: with none. */
  compareWith(id: string | null): void {
    const { notice, actions } = this.parts;
    this.first = id;
    const entry = id === null ? undefined : actions.entry(id);
    if (!entry) {
      notice.clear();
      return;
    }
    const stop = { label: trans.__("Cancel"), run: () => this.compareWith(null) };
    notice.announce(trans.__("Choose the capture to compare %1 with.", nameOf(entry)), stop);
    this.list.focus();
  }

  async choose(captures: string[]): Promise<void> {
    const client = this.parts.clients.current;
    if (!client) return;
    const wanted = { client, captures };
    if (isSame(this.wanted, wanted)) return;
    // Drawn anew it would lose its tab, its search and where the picture stands.
    const there = isSame(this.drawn, wanted) && !this.shown.lost;
    this.wanted = there ? null : wanted;
    this.update_();
    if (there) return;
    const content = await this.widgetOf(client, captures);
    // The user may have chosen another meanwhile, or looked at another kernel.
    if (this.wanted !== wanted) {
      content?.dispose();
      return;
    }
    this.wanted = null;
    if (content) this.draw(wanted, content);
    this.update_();
  }

  private draw(chosen: Chosen, content: Widget): void {
    this.drawn = chosen;
    this.chosen.set(chosen.client, chosen.captures);
    this.shown.put(content, nameOfChosen(chosen));
  }

  async openInTab(captures: string[]): Promise<void> {
    const client = this.parts.clients.current;
    if (!client || this.parts.tabs.front(captures)) return;
    const content = await this.widgetOf(client, captures);
    if (content)
      this.parts.tabs.open(client, captures, content, nameOfChosen({ client, captures }));
  }

  private async pick(id: string, beside: boolean): Promise<void> {
    const other = this.first ?? (beside ? this.capture : null);
    if (this.first) this.compareWith(null);
    if (other === null || other === id) return this.choose([id]);
    await this.choose(inOrder(this.parts.clients.current, [other, id]));
  }

  private async widgetOf(client: Client, captures: string[]): Promise<Widget | null> {
    const action = captures.length === 2 ? "compare" : "show";
    const answer = await this.parts.actions.ask(trans.__("loading"), { action, captures }, client);
    const home = this.parts.clients.homeOf(client);
    if (!answer?.text || !home) return null;
    try {
      return rendered(home.rendermime, answer.text);
    } catch (error) {
      this.parts.notice.fail((error as Error).message);
      return null;
    }
  }

  private close_(): void {
    if (this.drawn) this.chosen.delete(this.drawn.client);
    this.undraw();
    this.update_();
    this.list.focus();
  }

  private undraw(): void {
    this.drawn = this.wanted = null;
    this.shown.clear();
  }

  /** Follows whatever changed: another kernel, another list, another name. */
  private update_(): void {
    const { clients, tabs } = this.parts;
    const client = clients.current;
    const entries = client?.entries ?? [];
    const ids = new Set(entries.map((entry) => entry.id));
    if (this.first && !ids.has(this.first)) this.compareWith(null);
    if (this.wanted && this.wanted.client !== client) this.wanted = null;
    const stale = this.drawn && this.drawn.client !== client;
    if (stale || this.drawn?.captures.some((id) => !ids.has(id))) this.undraw();
    const left = client && this.chosen.get(client);
    if (left && !this.drawn && !this.wanted && left.every((id) => ids.has(id))) {
      this.chosen.delete(client);
      void this.choose(left);
    }
    if (this.drawn) this.shown.name(nameOfChosen(this.drawn));
    tabs.update();
    this.list.show(entries, (this.wanted ?? this.drawn)?.captures ?? []);
    badge(this.title, entries[0]);
    this.clear.disabled = entries.every((entry) => entry.pinned);
    const context = clients.place?.context;
    fill(this.heading, context ? context.name : trans.__("Autograd inspector"));
    this.heading.title = context?.path ?? "";
    // The context is ready when the user, or the file, has chosen a kernel or none.
    const kernel = context?.session?.kernel ? true : context?.isReady ? false : null;
    const looked = { client, place: !!context, kernel, language: client?.language ?? "" };
    fill(this.empty, emptyState(looked));
    this.halves.share();
  }
}

/**
 * A capture in a notebook's output: the live widget where the kernel has it, else what the file kept.
 *
 * All of it is data. Nothing runs unless the user's own kernel has a widget of that id, and the output is trusted.
 */

import type { ISessionContext } from "@jupyterlab/apputils";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { Message } from "@lumino/messaging";
import { Panel } from "@lumino/widgets";
import { showSaved } from "../../saved";
import { createGraphView } from "../../view/graph";
import { draw } from "../kernel/draw";
import { Watcher } from "../kernel/watcher";
import { modelIdOf } from "./mime";

export const CAPTURE = "application/vnd.autograd-inspector.capture+json";
export const VIEW = "application/vnd.jupyter.widget-view+json";

/** The notebook or console in which something is rendered. */
export interface Home {
  rendermime: IRenderMimeRegistry;
  sessionContext: ISessionContext;
}

/** Where an element of the page belongs. */
export type FindHome = (node: HTMLElement) => Home | null;

type LiveView = Panel & IRenderMime.IRenderer;

export class CaptureRenderer extends Panel implements IRenderMime.IRenderer {
  private model: IRenderMime.IMimeModel | null = null;
  private away: (() => void) | null = null;
  private live: LiveView | null = null;
  private watcher: Watcher | null = null;

  constructor(
    private readonly mimeType: string,
    private readonly homeOf: FindHome,
  ) {
    super();
    this.addClass("agi-saved");
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    this.clear();
    if (this.isAttached) this.look();
    else if (!modelIdOf(model)) this.showFile();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.look();
  }

  protected override onBeforeDetach(message: Message): void {
    this.watcher?.dispose();
    this.watcher = null;
    super.onBeforeDetach(message);
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.watcher?.dispose();
    this.clear();
    super.dispose();
  }

  private look(): void {
    const { model } = this;
    if (!model) return;
    const id = modelIdOf(model);
    const home = model.trusted && id ? this.homeOf(this.node) : null;
    this.watcher?.dispose();
    this.watcher = home && new Watcher(home.sessionContext, id, () => this.goLive(home, id));
    if (home && this.watcher?.has()) this.goLive(home, id);
    else if (!this.live) this.showFile();
  }

  private showFile(): void {
    if (this.away || !this.model) return;
    const host = document.createElement("div");
    this.node.append(host);
    const drop = showSaved(host, this.model.data[this.mimeType], createGraphView);
    this.away = () => {
      drop();
      host.remove();
    };
    this.node.dataset.shows = "file";
  }

  /** The saved capture stays until the widget is there. */
  private goLive({ rendermime }: Home, id: string): void {
    if (this.live || !this.model || this.isDisposed) return;
    const live = rendermime.createRenderer(VIEW) as LiveView;
    this.live = live;
    live.node.hidden = true;
    this.addWidget(live);
    const data = { [VIEW]: { version_major: 2, version_minor: 0, model_id: id } };
    const met = new Set<unknown>();
    const settle = () => {
      const view = live.widgets.at(-1);
      if (!view || met.has(view) || this.live !== live) return;
      met.add(view);
      live.node.hidden = false;
      this.dropFile();
      this.node.dataset.shows = "widget";
      view.disposed.connect(() => this.fallBack(live));
    };
    // The manager may find the widget much later, when it has asked the kernel.
    const seen = new MutationObserver(settle);
    seen.observe(live.node, { childList: true });
    live.disposed.connect(() => seen.disconnect());
    void draw(live, rendermime.createModel({ data, trusted: true })).then(settle);
  }

  private fallBack(live: LiveView): void {
    const others = live.widgets.some((view) => !view.isDisposed);
    if (others || this.live !== live || this.isDisposed) return;
    this.live = null;
    this.showFile();
    // The view is being disposed of right now, and its parent must outlive that.
    queueMicrotask(() => live.dispose());
  }

  private dropFile(): void {
    this.away?.();
    this.away = null;
  }

  private clear(): void {
    const { live } = this;
    this.live = null;
    live?.dispose();
    this.dropFile();
  }
}

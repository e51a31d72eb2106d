/** The offer, above the panel's list, while the notebook whose cell failed is looked at. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ITranslator } from "@jupyterlab/translation";
import { MessageLoop } from "@lumino/messaging";
import { Panel, Widget } from "@lumino/widgets";
import { button, el, fill } from "../../view/dom";
import { refuse } from "../announce";
import { IInspector, PANEL_ID } from "../api";
import { speak, trans } from "../i18n";
import { type Offer, Offers } from "./offer";

class OfferView extends Widget {
  constructor(
    private readonly offers: Offers,
    private readonly inspector: IInspector,
  ) {
    super({ node: el("div", { class: "agi-offer", role: "status" }) });
    offers.changed.connect(this.follow, this);
    inspector.changed.connect(this.follow, this);
    this.follow();
  }

  private follow(): void {
    const { current } = this.offers;
    const here = current !== null && this.inspector.current?.kernelId === current.kernelId;
    this.setHidden(!here);
    fill(this.node, ...(here ? this.drawn(current) : []));
    // What stands below has another height now.
    if (this.parent) MessageLoop.postMessage(this.parent, Widget.ResizeMessage.UnknownSize);
  }

  private drawn(offer: Offer): Node[] {
    const where = offer.cell || trans.__("A cell");
    const run = () => void offer.run().catch(refuse);
    return [
      el("p", {}, el("strong", {}, trans.__("%1 failed in autograd", where))),
      el("p", { class: "agi-offer-error", title: offer.error }, offer.error),
      el(
        "div",
        { class: "agi-offer-ways" },
        button(trans.__("Run again with the inspector"), run, { class: "agi-offer-run" }),
        button(trans.__("Dismiss"), () => this.offers.dismiss()),
      ),
    ];
  }
}

export const offerPlugin: JupyterFrontEndPlugin<void> = {
  id: "autograd-inspector:offer",
  description: "Offers to re-run a failed cell with the inspector.",
  autoStart: true,
  requires: [IInspector, INotebookTracker],
  optional: [ITranslator],
  activate(
    app: JupyterFrontEnd,
    inspector: IInspector,
    tracker: INotebookTracker,
    translator: ITranslator | null,
  ): void {
    speak(translator);
    const view = new OfferView(new Offers(inspector, tracker), inspector);
    // Before, the shell keeps what was added to it for itself.
    void app.restored.then(() => {
      const panel = [...app.shell.widgets("right")].find(({ id }) => id === PANEL_ID);
      if (panel instanceof Panel) panel.insertWidget(0, view);
    });
  },
};

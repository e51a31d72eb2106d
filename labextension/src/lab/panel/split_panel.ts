/** The list above and the capture below: the list has the height that it needs, until the user moves the handle. */

import { SplitPanel, type Widget } from "@lumino/widgets";

/** Of the panel's height, that of the list at most. */
const MOST = 0.4;

export class ReportSplit extends SplitPanel {
  private moved = false;

  constructor(
    list: Widget,
    private readonly shown: Widget,
    /** The height, in pixels, at which nothing of the list is out of sight. */
    private readonly needed: () => number,
  ) {
    super({ orientation: "vertical", spacing: 1 });
    this.addClass("agi-side-split");
    this.addWidget(list);
    this.addWidget(shown);
    this.handleMoved.connect(() => {
      this.moved = true;
    });
  }

  /** What is listed or shown has changed. */
  share(): void {
    const height = this.node.clientHeight;
    if (this.moved || this.shown.isHidden || !height) return;
    const share = Math.min(this.needed() / height, MOST);
    this.setRelativeSizes([share, 1 - share]);
  }
}

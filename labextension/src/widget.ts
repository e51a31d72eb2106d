/** The widget: what anywidget calls in JupyterLab, Notebook, VS Code, Colab and marimo. */

import { mount } from "./mount";
import { Prepared } from "./state/prepared";
import type { Model } from "./state/widget_model";
import { createGraphView } from "./view/graph";

/** One a model. Python is still writing the rest of the output when `initialize` begins. */
export default () => {
  const prepared = new Prepared();
  return {
    initialize: ({ model }: { model: Model }): void => prepared.begin(model),
    render: ({ model, el }: { model: Model; el: HTMLElement }): (() => void) =>
      mount(model, el, createGraphView, prepared),
  };
};

/** The widget: what anywidget calls in JupyterLab, Notebook, VS Code, Colab and marimo. */

import { type Model, mount } from "./mount";
import { createGraphView } from "./view/graph";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  return mount(model, el, createGraphView);
}

export default { render };

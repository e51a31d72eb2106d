/** The JupyterLab extension: what `labextension/` is beside the widget. */

import { panelPlugin } from "./lab/panel/plugin";
import { plugins } from "./lab/plugins";

export default [panelPlugin, ...plugins];

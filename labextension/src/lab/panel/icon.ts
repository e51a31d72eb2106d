/** Three nodes of a graph and the glass over one of them. */

import { LabIcon } from "@jupyterlab/ui-components";

const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2" stroke-linecap="round">
    <circle cx="4.5" cy="5" r="2.5"/><circle cx="4.5" cy="19" r="2.5"/>
    <path d="M7 6l3 2.5M7 18l3-2.5"/><circle cx="14" cy="12" r="5"/><path d="M17.6 15.6L22 20"/>
  </g></svg>`;

export const inspectorIcon = new LabIcon({ name: "autograd-inspector:inspect", svgstr });

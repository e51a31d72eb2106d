/** What this extension and a kernel must agree on. */

import { WIRE } from "../../wire";
import { trans } from "../i18n";
import { PROTOCOL } from "./messages";

/** What a message says of its sender; only a listing says all. */
export interface Versions {
  protocol: number;
  wire?: number;
  version?: string;
}

/** Which side to upgrade, in one line; "" where both speak the same. */
export function mismatch({ protocol, wire, version }: Versions): string {
  if (protocol === PROTOCOL && (wire === undefined || wire === WIRE)) return "";
  const newer = protocol > PROTOCOL || (protocol === PROTOCOL && (wire ?? 0) > WIRE);
  const theirs = version ? `autograd_inspector ${version}` : "autograd_inspector";
  const upgrade = "pip install --upgrade autograd_inspector";
  return newer
    ? trans.__(
        "The kernel's %1 is newer than this JupyterLab extension: run %2 where JupyterLab is installed, then reload the page.",
        theirs,
        upgrade,
      )
    : trans.__(
        "The kernel's %1 is older than this JupyterLab extension: run %2 in the kernel's environment, then restart the kernel.",
        theirs,
        upgrade,
      );
}

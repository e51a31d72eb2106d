/** A dot on the panel's tab where the newest capture has an error or a warning: the panel opens when the user wants it. */

import type { Title, Widget } from "@lumino/widgets";
import { counted } from "../../model/said";
import { trans } from "../i18n";
import type { Entry } from "../kernel/messages";

export function badge(title: Title<Widget>, newest: Entry | undefined): void {
  const name = trans.__("Autograd inspector");
  const errors = newest?.errors ?? 0;
  const warnings = newest?.warnings ?? 0;
  title.className = errors ? "agi-tab-error" : warnings ? "agi-tab-warning" : "";
  const found = errors ? counted(errors, "error") : counted(warnings, "warning");
  title.caption = errors || warnings ? `${name}: ${found}` : name;
}

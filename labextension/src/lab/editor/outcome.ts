/** What two captures of a cell say of an edit that was made between them. */

import { trans } from "../i18n";
import type { Entry } from "../kernel/messages";

export interface Outcome {
  gone: boolean;
  text: string;
}

/** `after` is null where the cell was not inspected again. */
export function compared(rule: string, before: Entry | undefined, after: Entry | null): Outcome {
  if (!after) {
    const text = trans.__("The cell ran, but was not inspected: nothing is known of %1.", rule);
    return { gone: false, text };
  }
  if (after.error && after.error !== before?.error) {
    return { gone: false, text: trans.__("With the edit, the cell raises %1", after.error) };
  }
  if (told(after, rule) > 0 && told(after, rule) >= told(before, rule)) {
    return { gone: false, text: trans.__("%1 is still reported.", rule) };
  }
  const left = after.errors + after.warnings;
  const rest = left
    ? trans._n("%1 finding is left.", "%1 findings are left.", left)
    : trans.__("Nothing else is reported.");
  return { gone: true, text: `${trans.__("%1 is gone.", rule)} ${rest}` };
}

/** How many findings of a rule name a line of a cell. */
function told(entry: Entry | undefined, rule: string): number {
  const marks = entry?.marks?.filter((mark) => mark.rule === rule) ?? [];
  return new Set(marks.map(({ message }) => message)).size;
}

/** All vitals as a table with one value a line, as a data frame in long form has them. */

import type { Vitals } from "../../wire";

const HEAD = ["quantity", "module", "step", "value"];

export function csvOf(vitals: Vitals): string {
  const lines = [HEAD.join(",")];
  const add = (...fields: (string | number)[]) => lines.push(fields.map(field).join(","));
  for (const { key, rows } of vitals.quantities) {
    for (const row of rows) {
      row.values.forEach((value, n) => {
        if (value !== null) add(key, named(row.label), vitals.steps[n]!, value);
      });
    }
  }
  for (const { label, values } of vitals.memory) {
    values.forEach((value, n) => {
      if (value !== null) add(`${label} bytes`, "", vitals.steps[n]!, value);
    });
  }
  vitals.scale.forEach((value, n) => {
    add("loss scale", "", vitals.updates[n]!, value);
  });
  return `${lines.join("\r\n")}\r\n`;
}

/** What a spreadsheet would take for a formula is text. */
const named = (name: string) => name.replace(/^[=+@\t-]/, "'$&");

/** RFC 4180: quoted where a separator, a quote or a line break is in it. */
function field(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

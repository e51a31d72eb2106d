/** A capture in words. */

import { counted } from "../../model/said";
import { seconds } from "../../model/shown";
import { trans } from "../i18n";
import type { Entry } from "../kernel/messages";

/** What the user calls it, else its cell. */
export function nameOf(entry: Entry): string {
  return entry.name || entry.cell || trans.__("capture");
}

/** The time of today, the day of any other. */
export function when(created: number, now = Date.now()): string {
  const at = new Date(created * 1000);
  const today = new Date(now).toDateString() === at.toDateString();
  return today
    ? at.toLocaleTimeString([], { timeStyle: "medium", hourCycle: "h23" })
    : at.toLocaleDateString([], { day: "numeric", month: "short" });
}

export function whenExactly(created: number): string {
  return new Date(created * 1000).toLocaleString();
}

/** How large, how long, and of which cell where it has a name of its own. */
export function facts(entry: Entry): string {
  const parts = [counted(entry.nodes, "node"), entry.seconds > 0 ? seconds(entry.seconds) : ""];
  if (entry.name && entry.cell) parts.unshift(entry.cell);
  return parts.filter(Boolean).join(" · ");
}

export interface Count {
  severity: "error" | "warning" | "info" | "good";
  sign: string;
  text: string;
}

/** Findings by severity: a sign beside the colour, and words for who sees neither. */
export function counts({ errors, warnings, infos, unjudged }: Entry): Count[] {
  const parts: Count[] = [];
  const add = (severity: Count["severity"], sign: string, number: number, text: string) => {
    if (number) parts.push({ severity, sign: `${sign} ${number}`, text });
  };
  add("error", "✕", errors, counted(errors, "error"));
  add("warning", "▲", warnings, counted(warnings, "warning"));
  add("info", "i", infos, trans.__("%1 info", infos));
  if (unjudged) parts.push({ severity: "warning", sign: "?", text: trans.__("not judged") });
  return parts.length ? parts : [{ severity: "good", sign: "✓", text: trans.__("no findings") }];
}

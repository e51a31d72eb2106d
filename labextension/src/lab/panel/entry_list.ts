/** The captures of a kernel, newest first. One stop of the Tab key; arrows walk, Enter shows, F2 renames. */

import { el } from "../../view/dom";
import { trans } from "../i18n";
import type { Entry } from "../kernel/messages";
import { EntryRow, type RowActions } from "./entry_row";

export interface ListActions extends RowActions {
  remove(id: string): void;
}

export class EntryList {
  readonly node = el("ul", {
    class: "agi-captures",
    "aria-label": trans.__("Captures, newest first"),
  });
  private rows = new Map<string, EntryRow>();
  private stop = "";

  constructor(private readonly actions: ListActions) {
    this.node.addEventListener("keydown", this.pressed);
    this.node.addEventListener("focusin", (event) => {
      const row = this.rowOf(event.target as Element);
      if (row) this.move(row.id);
    });
  }

  /** Rows that stay keep their elements, and with them the focus. */
  show(entries: readonly Entry[], current: readonly string[]): void {
    const focused = this.rowOf(document.activeElement);
    const order = [...this.rows.keys()];
    const rows = new Map<string, EntryRow>();
    for (const entry of entries) {
      const row = this.rows.get(entry.id);
      row?.update(entry);
      rows.set(entry.id, row ?? new EntryRow(entry, this.actions));
    }
    this.rows = rows;
    this.arrange([...rows.values()].map((row) => row.node));
    for (const row of rows.values()) row.current(current.includes(row.id));
    if (!rows.has(this.stop)) this.move(neighbour(order, this.stop, rows));
    else this.move(this.stop);
    if (focused && !rows.has(focused.id)) rows.get(this.stop)?.focus();
  }

  edit(id: string): void {
    this.rows.get(id)?.edit();
  }

  focus(): void {
    this.rows.get(this.stop)?.focus();
  }

  /** Moves only what is not in its place: moving an element takes its focus away. */
  private arrange(nodes: HTMLElement[]): void {
    const wanted = new Set(nodes);
    for (const node of [...this.node.children]) {
      if (!wanted.has(node as HTMLElement)) node.remove();
    }
    nodes.forEach((node, n) => {
      const there = this.node.children[n];
      if (there !== node) this.node.insertBefore(node, there ?? null);
    });
  }

  private move(id: string): void {
    this.rows.get(this.stop)?.stop(false);
    this.stop = id;
    this.rows.get(id)?.stop(true);
  }

  private rowOf(element: Element | null): EntryRow | undefined {
    const node = element?.closest<HTMLElement>(".agi-capture");
    const row = this.rows.get(node?.dataset.capture ?? "");
    return row?.node === node ? row : undefined;
  }

  private readonly pressed = (event: KeyboardEvent): void => {
    const row = this.rowOf(event.target as Element);
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const ids = [...this.rows.keys()];
    const at = ids.indexOf(row.id);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: ids.length - 1 }[event.key];
    if (to !== undefined) this.rows.get(ids[Math.max(0, Math.min(to, ids.length - 1))]!)?.focus();
    else if (event.key === "F2") row.edit();
    else if (event.key === "Delete") this.actions.remove(row.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

/** The row that takes the place of one that is gone: the next that stays, else the one before. */
function neighbour(order: string[], gone: string, rows: Map<string, EntryRow>): string {
  const at = order.indexOf(gone);
  const stays = (id: string) => rows.has(id);
  const after = at < 0 ? undefined : order.slice(at).find(stays);
  const before = order.slice(0, Math.max(at, 0)).reverse().find(stays);
  return after ?? before ?? [...rows.keys()][0] ?? "";
}

/** Which rows the outline has, and how keys go from one to another. */

import type { Box, Tree } from "../../layout/box";

export interface Row {
  box: Box;
  level: number;
  open: boolean;
  /** Its place among its siblings, from 1, and how many they are. */
  place: number;
  siblings: number;
}

/** Children of open boxes only: closed ones cost nothing, however much is in them. */
export function rowsOf(tree: Tree, open: ReadonlySet<number>): Row[] {
  const rows: Row[] = [];
  const visit = (parent: Box, level: number): void => {
    parent.children.forEach((box, at) => {
      const opened = open.has(box.id) && box.children.length > 0;
      rows.push({ box, level, open: opened, place: at + 1, siblings: parent.children.length });
      if (opened) visit(box, level + 1);
    });
  };
  visit(tree.root, 1);
  return rows;
}

export function openTo(open: Set<number>, box: Box): void {
  for (let at = box.parent; at; at = at.parent) open.add(at.id);
}

/** The row that a key leads to; "toggle" where it opens or closes the row; null for other keys. */
export function stepFrom(rows: Row[], at: number, key: string): number | "toggle" | null {
  const row = rows[at]!;
  switch (key) {
    case "ArrowDown":
      return at + 1;
    case "ArrowUp":
      return at - 1;
    case "Home":
      return 0;
    case "End":
      return rows.length - 1;
    case "ArrowRight":
      if (row.box.children.length === 0) return at;
      return row.open ? at + 1 : "toggle";
    case "ArrowLeft": {
      if (row.open) return "toggle";
      const parent = rows.findIndex((other) => other.box === row.box.parent);
      return parent < 0 ? at : parent;
    }
    default:
      return null;
  }
}

/** Lines that are marked, in an editor's text: those that it has, where their code begins and ends, and what is under it. */

import type { EditorState } from "@codemirror/state";
import { Decoration, type DecorationSet } from "@codemirror/view";
import type { MarkedLine } from "./marks_of";

export function inside(lines: readonly MarkedLine[], state: EditorState): readonly MarkedLine[] {
  return lines.filter(({ line }) => line >= 1 && line <= state.doc.lines);
}

export function textOf(state: EditorState, number: number): { from: number; to: number } {
  const { from, to, text } = state.doc.line(number);
  const start = from + text.length - text.trimStart().length;
  return { from: Math.min(start, to), to: Math.max(start, from + text.trimEnd().length) };
}

export function squiggles(state: EditorState, lines: readonly MarkedLine[]): DecorationSet {
  return Decoration.set(
    lines.flatMap(({ line, severity, culprit }) => {
      const { from, to } = textOf(state, line);
      const kind = culprit ? "agi-culprit" : "agi-beside";
      const drawn = Decoration.mark({ class: `agi-host agi-squiggle ${kind} agi-${severity}` });
      return from < to ? [drawn.range(from, to)] : [];
    }),
  );
}

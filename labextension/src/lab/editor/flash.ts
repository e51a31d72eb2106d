/** A line lights up for a moment, so that the eye finds it. */

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

const LONG = 1_600;
/** The start of a line; null puts it out. */
const light = StateEffect.define<number | null>();

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, change) {
    let next = value.map(change.changes);
    for (const effect of change.effects) {
      if (!effect.is(light)) continue;
      const lit = Decoration.line({ class: "agi-host agi-flash" });
      next = effect.value === null ? Decoration.none : Decoration.set(lit.range(effect.value));
    }
    return next;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/** Selects a line (from 1), brings it into view and lights it; a line beyond the end is the last one. */
export function flashLine(view: EditorView, number: number): void {
  const { doc } = view.state;
  const { from, to } = doc.line(Math.max(1, Math.min(number, doc.lines)));
  const missing = view.state.field(field, false) === undefined;
  if (missing) view.dispatch({ effects: StateEffect.appendConfig.of(field) });
  view.dispatch({
    selection: { anchor: from, head: to },
    effects: [light.of(from), EditorView.scrollIntoView(from, { y: "center" })],
  });
  view.focus();
  setTimeout(() => view.dispatch({ effects: light.of(null) }), LONG);
}

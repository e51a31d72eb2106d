/** The marks of one editor: squiggles, signs in a gutter, and a tooltip that a pointer or a command opens. */

import {
  type EditorState,
  type Extension,
  RangeSet,
  StateEffect,
  StateField,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  GutterMarker,
  gutter,
  hoverTooltip,
  keymap,
  showTooltip,
  type Tooltip,
  tooltips,
} from "@codemirror/view";
import { bulb } from "./bulb";
import { sign, tip } from "./marks_dom";
import type { MarkedLine } from "./marks_of";

const setMarks = StateEffect.define<readonly MarkedLine[]>();
/** The line whose tooltip stays open, null for none. */
const setOpen = StateEffect.define<number | null>();

interface Marks {
  lines: readonly MarkedLine[];
  open: Tooltip | null;
}

const NONE: Marks = { lines: [], open: null };

/** Every mark goes with the first edit: no line can be trusted to be the one that ran. */
const field = StateField.define<Marks>({
  create: () => NONE,
  update(value, change) {
    let next = change.docChanged ? NONE : value;
    if (change.selection && next.open !== null) next = { ...next, open: null };
    for (const effect of change.effects) {
      if (effect.is(setMarks)) next = { lines: inside(effect.value, change.state), open: null };
      if (effect.is(setOpen)) {
        const marked = next.lines.find(({ line }) => line === effect.value);
        next = { ...next, open: marked ? tooltipOf(change.state, marked) : null };
      }
    }
    return next;
  },
  provide: (self) => [
    EditorView.decorations.from(
      self,
      ({ lines }) =>
        (view) =>
          squiggles(view.state, lines),
    ),
    showTooltip.from(self, ({ open }) => open),
  ],
});

function inside(lines: readonly MarkedLine[], state: EditorState): readonly MarkedLine[] {
  return lines.filter(({ line }) => line >= 1 && line <= state.doc.lines);
}

function textOf(state: EditorState, number: number): { from: number; to: number } {
  const { from, to, text } = state.doc.line(number);
  const start = from + text.length - text.trimStart().length;
  return { from: Math.min(start, to), to: Math.max(start, from + text.trimEnd().length) };
}

function squiggles(state: EditorState, lines: readonly MarkedLine[]): DecorationSet {
  return Decoration.set(
    lines.flatMap(({ line, severity, culprit }) => {
      const { from, to } = textOf(state, line);
      const kind = culprit ? "agi-culprit" : "agi-beside";
      const drawn = Decoration.mark({ class: `agi-host agi-squiggle ${kind} agi-${severity}` });
      return from < to ? [drawn.range(from, to)] : [];
    }),
  );
}

class Sign extends GutterMarker {
  constructor(readonly marked: MarkedLine) {
    super();
  }

  override eq(other: Sign): boolean {
    return this.marked === other.marked;
  }

  override toDOM(view: EditorView): HTMLElement {
    const made = sign(this.marked);
    const { line } = this.marked;
    made.addEventListener("mouseenter", () => open(view, line));
    made.addEventListener("mouseleave", () => open(view, null));
    made.addEventListener("click", () => goTo(view, line));
    const lit = bulb(this.marked);
    if (!lit) return made;
    const both = document.createElement("div");
    both.className = "agi-mark-both";
    both.append(made, lit);
    return both;
  }
}

const signs = gutter({
  class: "agi-mark-gutter",
  markers: (view) =>
    RangeSet.of(
      view.state
        .field(field)
        .lines.map((marked) => new Sign(marked).range(view.state.doc.line(marked.line).from)),
    ),
});

const hover = hoverTooltip((view, position) => {
  const { number } = view.state.doc.lineAt(position);
  const marked = view.state.field(field).lines.find((one) => one.line === number);
  if (!marked) return null;
  const { from, to } = textOf(view.state, number);
  return position >= from && position <= to ? tooltipOf(view.state, marked) : null;
});

function tooltipOf(state: EditorState, marked: MarkedLine): Tooltip {
  const { from, to } = textOf(state, marked.line);
  return { pos: from, end: to, above: true, create: () => ({ dom: tip(marked) }) };
}

function open(view: EditorView, line: number | null): void {
  view.dispatch({ effects: setOpen.of(line) });
}

const escapes = keymap.of([
  {
    key: "Escape",
    run(view) {
      if (view.state.field(field).open === null) return false;
      open(view, null);
      return true;
    },
  },
]);

/** A cell clips what it holds: tooltips belong to the page. */
const marking: Extension = [
  field,
  signs,
  hover,
  escapes,
  tooltips({ position: "fixed", parent: document.body }),
];

/** What an editor shows from now on; nothing is added to one that never had a mark. */
export function show(view: EditorView, lines: readonly MarkedLine[]): void {
  const marked = view.state.field(field, false);
  if (!marked && lines.length === 0) return;
  if (marked && same(marked.lines, inside(lines, view.state))) return;
  const effects: StateEffect<unknown>[] = marked ? [] : [StateEffect.appendConfig.of(marking)];
  view.dispatch({ effects });
  view.dispatch({ effects: setMarks.of(lines) });
}

function same(a: readonly MarkedLine[], b: readonly MarkedLine[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The lines that are marked now. */
export function shown(view: EditorView): readonly MarkedLine[] {
  return view.state.field(field, false)?.lines ?? [];
}

/** Put the cursor on a marked line and open what is said of it. */
export function goTo(view: EditorView, line: number): void {
  const { from } = textOf(view.state, line);
  view.dispatch({ selection: { anchor: from }, effects: setOpen.of(line) });
  view.focus();
}

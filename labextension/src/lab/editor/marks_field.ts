/** The marks of one editor: squiggles, signs in a gutter, words, and a tooltip that a pointer or a command opens. */

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
import { type LensEvents, lenses, type Room } from "./lens";
import { measuredRoom, setRoom } from "./lens_room";
import { sign, tip } from "./marks_dom";
import type { MarkedLine } from "./marks_of";
import { inside, squiggles, textOf } from "./squiggles";

/** `words`: culprits say what they did. */
const setMarks = StateEffect.define<{ lines: readonly MarkedLine[]; words: boolean }>();
/** The line whose tooltip stays open, null for none. */
const setOpen = StateEffect.define<number | null>();

interface Marks {
  lines: readonly MarkedLine[];
  words: boolean;
  /** null before it was measured: no words are drawn yet. */
  room: Room | null;
  said: DecorationSet;
  open: Tooltip | null;
}

const NONE: Marks = { lines: [], words: false, room: null, said: Decoration.none, open: null };

/** Every mark goes with the first edit: no line can be trusted to be the one that ran. */
const field = StateField.define<Marks>({
  create: () => NONE,
  update(value, change) {
    let next = change.docChanged ? { ...NONE, room: value.room } : value;
    if (change.selection && next.open !== null) next = { ...next, open: null };
    for (const effect of change.effects) {
      if (effect.is(setMarks)) {
        const { words } = effect.value;
        next = { ...next, lines: inside(effect.value.lines, change.state), words, open: null };
      }
      if (effect.is(setRoom)) next = { ...next, room: effect.value };
      if (effect.is(setOpen)) {
        const marked = next.lines.find(({ line }) => line === effect.value);
        next = { ...next, open: marked ? tooltipOf(change.state, marked) : null };
      }
    }
    const same = (["lines", "words", "room"] as const).every((key) => next[key] === value[key]);
    return same ? next : { ...next, said: wordsOf(next, change.state) };
  },
  provide: (self) => [
    EditorView.decorations.from(
      self,
      ({ lines }) =>
        (view) =>
          squiggles(view.state, lines),
    ),
    // Not a function: words below a line are as high as a line.
    EditorView.decorations.from(self, ({ said }) => said),
    showTooltip.from(self, ({ open }) => open),
  ],
});

function wordsOf({ lines, words, room }: Marks, state: EditorState): DecorationSet {
  return words && room ? lenses(state, lines, room, pointing) : Decoration.none;
}

/** Pointing at a line's sign or words opens its tooltip for as long as that lasts, choosing them for longer. */
function pointing(view: EditorView, line: number): LensEvents {
  let chosen = false;
  return {
    point(on) {
      if (!chosen || on) open(view, on ? line : null);
      chosen = false;
    },
    choose() {
      chosen = true;
      goTo(view, line);
    },
  };
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
    const { point, choose } = pointing(view, this.marked.line);
    made.addEventListener("mouseenter", () => point(true));
    made.addEventListener("mouseleave", () => point(false));
    made.addEventListener("click", choose);
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
  measuredRoom,
  signs,
  hover,
  escapes,
  tooltips({ position: "fixed", parent: document.body }),
];

/** What an editor shows from now on, with `words` or without; nothing is added to one that never had a mark. */
export function show(view: EditorView, lines: readonly MarkedLine[], words = true): void {
  const marked = view.state.field(field, false);
  if (!marked && lines.length === 0) return;
  if (marked?.words === words && same(marked.lines, inside(lines, view.state))) return;
  const effects: StateEffect<unknown>[] = marked ? [] : [StateEffect.appendConfig.of(marking)];
  view.dispatch({ effects });
  view.dispatch({ effects: setMarks.of({ lines, words }) });
}

function same(a: readonly MarkedLine[], b: readonly MarkedLine[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The lines that are marked now. */
export function shown(view: EditorView): readonly MarkedLine[] {
  return view.state.field(field, false)?.lines ?? [];
}

/** What stays free above and below a line that was gone to, in pixels: its tooltip stands there. */
const AROUND = 160;

/** Put the cursor on a marked line, wherever in a long cell, and open what is said of it. */
export function goTo(view: EditorView, line: number): void {
  const { from } = textOf(view.state, line);
  const seen = EditorView.scrollIntoView(from, { y: "nearest", yMargin: AROUND });
  view.dispatch({ selection: { anchor: from }, effects: [setOpen.of(line), seen] });
  view.focus();
}

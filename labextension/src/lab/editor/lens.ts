/** Why a line is a culprit, in the editor itself: at the end of that line, or below it where there is no room. */

import { countColumn, type EditorState, RangeSet } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, WidgetType } from "@codemirror/view";
import { severityOf } from "../../model/severity";
import { el, prose } from "../../view/dom";
import { trans } from "../i18n";
import { askFor } from "./bulb";
import { fixesOf, gravest, type MarkedLine, phraseOf } from "./marks_of";

/** How wide an editor's lines may be, and one of its characters: in pixels. */
export interface Room {
  width: number;
  character: number;
}

/** Characters between the code and the words. */
const GAP = 3;
/** Fewer characters than that tell nothing. */
const LEAST = 36;
/** Letters that are two wide in an editor. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/g;

/** How many grave things a line is the culprit of. */
function graveOf({ marks }: MarkedLine): number {
  return marks.filter(({ culprit, severity }) => culprit && severityOf(severity) !== "info").length;
}

export interface LensEvents {
  /** The pointer is on the words (true), or no longer. */
  point(on: boolean): void;
  choose(): void;
}

/** The sign in the gutter says the same to a screen reader, and commands lead to the fix: this is for eyes alone. */
export function lens(marked: MarkedLine, events: LensEvents): HTMLElement {
  const mark = gravest(marked.marks)!;
  const more = graveOf(marked) - 1;
  const words = el(
    "span",
    {
      class: "agi-lens-words",
      on: {
        mouseenter: () => events.point(true),
        mouseleave: () => events.point(false),
        click: () => events.choose(),
      },
    },
    el("b", {}, `${phraseOf(mark)}: `),
    prose(mark.message),
  );
  const made = el(
    "span",
    { class: `agi-host agi-lens agi-tone agi-${severityOf(mark.severity)}`, "aria-hidden": "true" },
    words,
    more > 0 && el("span", { class: "agi-lens-more" }, `+${more}`),
  );
  if (fixesOf(marked).includes(mark)) {
    const preview = () => askFor(made, { marks: [mark], wish: "preview" });
    made.append(
      el(
        "button",
        { type: "button", class: "agi-lens-fix", tabindex: "-1", on: { click: preview } },
        trans.__("Preview fix"),
      ),
    );
  }
  return made;
}

class LensWidget extends WidgetType {
  constructor(
    private readonly marked: MarkedLine,
    private readonly events: (view: EditorView, line: number) => LensEvents,
    /** For words below the line: how far that is indented. Pixels, like `width`. */
    private readonly indent: number | null,
    private readonly width: number,
  ) {
    super();
  }

  override eq({ marked, indent, width }: LensWidget): boolean {
    return marked === this.marked && indent === this.indent && width === this.width;
  }

  override toDOM(view: EditorView): HTMLElement {
    const made = lens(this.marked, this.events(view, this.marked.line));
    made.style.maxWidth = `${this.width}px`;
    if (this.indent === null) return made;
    made.style.marginLeft = `${this.indent}px`;
    return el("div", { class: "agi-lens-below" }, made);
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

/** The words of all culprits; code is neither covered nor made to wrap. */
export function lenses(
  state: EditorState,
  lines: readonly MarkedLine[],
  { width, character }: Room,
  events: (view: EditorView, line: number) => LensEvents,
): DecorationSet {
  const columns = (text: string) =>
    countColumn(text, state.tabSize) + (text.match(WIDE)?.length ?? 0);
  const made = lines
    .filter(({ marks }) => gravest(marks))
    .map((marked) => {
      const { text, to } = state.doc.line(marked.line);
      const left = Math.floor(width - (columns(text) + GAP) * character);
      if (left >= LEAST * character) {
        return Decoration.widget({
          widget: new LensWidget(marked, events, null, left),
          side: 1,
        }).range(to);
      }
      const indent = columns(/^\s*/.exec(text)![0]) * character;
      const widget = new LensWidget(marked, events, indent, Math.floor(width - indent));
      return Decoration.widget({ widget, side: 1, block: true }).range(to);
    });
  return RangeSet.of(made, true);
}

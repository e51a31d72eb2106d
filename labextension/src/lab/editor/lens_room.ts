/** Tells an editor how much room its lines have, whenever that is different. */

import { type Extension, StateEffect } from "@codemirror/state";
import { type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { Room } from "./lens";

export const setRoom = StateEffect.define<Room>();

/** Beside the text: what a line keeps free at both of its ends. */
const MARGIN = 12;

export const measuredRoom: Extension = ViewPlugin.fromClass(
  class {
    private room: Room = { width: 0, character: 0 };
    private alive = true;

    constructor(view: EditorView) {
      this.look(view);
    }

    update({ geometryChanged, view }: ViewUpdate): void {
      if (geometryChanged) this.look(view);
    }

    destroy(): void {
      this.alive = false;
    }

    private look(view: EditorView): void {
      view.requestMeasure({ key: this, read: roomOf, write: (room) => this.tell(view, room) });
    }

    /** Not at once: an editor takes no changes while it measures. */
    private tell(view: EditorView, room: Room): void {
      const { width, character } = this.room;
      if (room.width === width && room.character === character) return;
      this.room = room;
      queueMicrotask(() => {
        if (this.alive) view.dispatch({ effects: setRoom.of(room) });
      });
    }
  },
);

function roomOf({ contentDOM, scrollDOM, defaultCharacterWidth }: EditorView): Room {
  const { left } = scrollDOM.getBoundingClientRect();
  const beside = contentDOM.getBoundingClientRect().left + scrollDOM.scrollLeft - left;
  return {
    width: Math.max(0, scrollDOM.clientWidth - Math.max(0, beside) - MARGIN),
    character: defaultCharacterWidth,
  };
}

/** What the user chose, for those who look at it whenever they draw. */

import { type ISignal, Signal } from "@lumino/signaling";
import { DEFAULTS, type Preferences } from "./appearance";

class Chosen {
  private readonly signal = new Signal<this, void>(this);
  private value = DEFAULTS;

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  get now(): Preferences {
    return this.value;
  }

  set now(value: Preferences) {
    this.value = value;
    this.signal.emit();
  }
}

/** The defaults, until the settings are read. */
export const chosen = new Chosen();

/** The style sheet's colours, for a pen. */

export class Colours {
  readonly #known = new Map<string, string>();

  constructor(private readonly host: Element) {}

  /** The theme may have changed. */
  forget(): void {
    this.#known.clear();
  }

  readonly of = (name: string): string => {
    let colour = this.#known.get(name);
    if (colour === undefined) {
      colour = getComputedStyle(this.host).getPropertyValue(`--agi-${name}`).trim();
      // Outside the page nothing has a colour yet.
      if (colour) this.#known.set(name, colour);
    }
    return colour || "#888";
  };
}

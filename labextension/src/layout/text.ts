/** Names and numbers as a reader sees them, and how much room they take. */

/** Width of a text in pixels at 1:1. */
export type Measure = (text: string, role: "title" | "small") => number;

const LONGEST = 34;
// Controls and direction marks would vanish or reorder what stands beside them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** On one line: hidden characters spelled out, the middle of a long name left out. */
export function shown(text: string, longest = LONGEST): string {
  let short = text;
  if (text.length > longest) {
    const half = (longest - 1) >> 1;
    short = `${text.slice(0, half)}…${text.slice(text.length - half)}`;
  }
  return short.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `getitem` for `__getitem__`. */
export function opName(name: string): string {
  const bare = /^__(.+)__$/.exec(name);
  return shown(bare ? bare[1]! : name);
}

/** `linear ×2, relu, …`: in order of appearance, repetitions counted. */
export function listed(names: string[], most = 3): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].slice(0, most);
  const texts = parts.map(([name, count]) => opName(name) + (count > 1 ? ` ×${count}` : ""));
  return texts.join(", ") + (counts.size > most ? ", …" : "");
}

/** Widths for where no font is at hand: those of Helvetica, rounded up. */
export const roughly: Measure = (text, role) => {
  let width = 0;
  for (const character of text) {
    if ("ijltfrI.,:;|'()[] ".includes(character)) width += 0.36;
    else if ("mwMW…✂×".includes(character) || character > "\u2000") width += 0.95;
    else if (character >= "A" && character <= "Z") width += 0.74;
    else width += 0.59;
  }
  return Math.ceil(width * (role === "title" ? 12.6 : 11));
};

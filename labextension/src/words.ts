/**
 * The language of the page. Who knows it shares it, and parts that were loaded apart, such as a widget under a cell, find
 * it on the page; where nobody does, texts are English.
 */

type Value = string | number;

/** As much of JupyterLab's TranslationBundle as is used: `%1` is the first value, in `_n` the count. */
export interface Words {
  __(text: string, ...values: Value[]): string;
  _n(one: string, many: string, count: number, ...values: Value[]): string;
}

const SHARED = Symbol.for("autograd-inspector.words");
const page = globalThis as { [SHARED]?: Words };

const english: Words = {
  __: (text, ...values) =>
    text.replace(/%(%|\d+)/g, (_, n) => (n === "%" ? n : String(values[n - 1]))),
  _n: (one, many, count, ...values) => english.__(count === 1 ? one : many, count, ...values),
};

export function share(words: Words): void {
  page[SHARED] = words;
}

const words = (): Words => page[SHARED] ?? english;

/**
 * To be asked when something is drawn, never when a module is loaded: the language is known only later. Tools that
 * collect messages look for the names `trans.__` and `trans._n`, with literals.
 */
export const trans: Words = {
  __: (...all) => words().__(...all),
  _n: (...all) => words()._n(...all),
};

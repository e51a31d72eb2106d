/** The language of the page: set once, before any part says something. */

import { type ITranslator, nullTranslator, type TranslationBundle } from "@jupyterlab/translation";

let bundle: TranslationBundle = nullTranslator.load("autograd_inspector");

export function speak(translator: ITranslator | null): TranslationBundle {
  if (translator) bundle = translator.load("autograd_inspector");
  return bundle;
}

/** Under which the palette lists the commands. */
export function category(): string {
  return bundle.__("Autograd Inspector");
}

export function trans(): TranslationBundle {
  return bundle;
}

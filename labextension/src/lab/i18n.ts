/** The language of the page: shared once, before any part says something, with the widgets too. */

import type { ITranslator } from "@jupyterlab/translation";
import { share, trans, type Words } from "../words";

export { trans };

export function speak(translator: ITranslator | null): Words {
  if (translator) share(translator.load("autograd_inspector"));
  return trans;
}

/** Under which the palette lists the commands. */
export function category(): string {
  return trans.__("Autograd Inspector");
}

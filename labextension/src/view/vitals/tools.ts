/** Which quantity is shown, of which modules, in which order. */

import { counted, grouped } from "../../model/said";
import { type Order, orders } from "../../model/vitals/order";
import type { Vitals } from "../../wire";
import { trans } from "../../words";
import { el } from "../dom";
import type { HeatMap } from "./heat_map";

export function vitalsTools({ quantities, steps, seen }: Vitals, map: HeatMap): HTMLElement {
  const quantity = select(
    trans.__("Quantity"),
    quantities.map(({ title }, n) => [String(n), title]),
    (value) => map.show({ quantity: quantities[Number(value)]! }),
  );
  const order = select(trans.__("Order"), orders(), (value) => {
    map.show({ order: value as Order });
  });
  const filter = el("input", {
    type: "search",
    class: "agi-input",
    placeholder: trans.__("Filter modules"),
    "aria-label": trans.__("Filter modules"),
    on: { input: () => map.show({ text: filter.value }) },
  });
  const kept =
    steps.length < seen
      ? trans._n("%2 of %3 step", "%2 of %3 steps", seen, grouped(steps.length), grouped(seen))
      : counted(seen, "step");
  return el(
    "div",
    { class: "agi-toolbar" },
    quantity,
    order,
    filter,
    el("span", { class: "agi-quiet", title: trans.__("kept steps of all steps") }, kept),
  );
}

function select(
  name: string,
  options: [string, string][],
  changed: (value: string) => void,
): HTMLSelectElement {
  const made = el(
    "select",
    { class: "agi-input", "aria-label": name, on: { change: () => changed(made.value) } },
    ...options.map(([value, text]) => el("option", { value }, text)),
  );
  return made;
}

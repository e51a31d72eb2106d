/** Which quantity is shown, of which modules, in which order. */

import { counted } from "../../model/shown";
import { ORDERS, type Order } from "../../model/vitals/order";
import type { Vitals } from "../../wire";
import { el } from "../dom";
import type { HeatMap } from "./heat_map";

export function vitalsTools({ quantities, steps, seen }: Vitals, map: HeatMap): HTMLElement {
  const quantity = select(
    "Quantity",
    quantities.map(({ title }, n) => [String(n), title]),
    (value) => map.show({ quantity: quantities[Number(value)]! }),
  );
  const order = select("Order", Object.entries(ORDERS), (value) => {
    map.show({ order: value as Order });
  });
  const filter = el("input", {
    type: "search",
    class: "agi-input",
    placeholder: "Filter modules",
    "aria-label": "Filter modules",
    on: { input: () => map.show({ text: filter.value }) },
  });
  const kept =
    steps.length < seen
      ? `${steps.length.toLocaleString("en")} of ${counted(seen, "step")}`
      : counted(seen, "step");
  return el(
    "div",
    { class: "agi-toolbar" },
    quantity,
    order,
    filter,
    el("span", { class: "agi-quiet", title: "kept steps of all steps" }, kept),
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

/** The vitals as files that the browser saves. */

import { csvOf } from "../../model/vitals/csv";
import type { Vitals } from "../../wire";
import { exportMenu } from "../export";
import type { HeatMap } from "./heat_map";
import { picture } from "./picture";

/** All quantities as CSV; the heat map as it is shown as SVG and PNG. */
export function takeAway(
  vitals: Vitals,
  map: HeatMap,
  announce: (text: string, seen: boolean) => void,
): HTMLElement {
  return exportMenu({
    name: "vitals",
    svg: () => picture(map),
    texts: ["csv"],
    text: async () => csvOf(vitals),
    announce,
  });
}

/** Wires as path data. */

import type { Wire } from "../../layout/scene";
import { arrow } from "./node_style";

export function wayOf(wire: Wire): string {
  let path = "";
  let [x, y] = [Number.NaN, Number.NaN];
  for (const s of wire.strokes()) {
    if (s.x1 !== x || s.y1 !== y) path += `M${s.x1} ${s.y1}`;
    if (s.bend1 !== s.y1) path += `V${s.bend1}`;
    if (s.x1 === s.x2) path += `V${s.y2}`;
    else {
      const middle = (s.bend1 + s.bend2) / 2;
      path += `C${s.x1} ${middle} ${s.x2} ${middle} ${s.x2} ${s.bend2}`;
      if (s.y2 !== s.bend2) path += `V${s.y2}`;
    }
    [x, y] = [s.x2, s.y2];
  }
  return path;
}

export function tipsOf(wire: Wire): string {
  return wire
    .tips()
    .map(([x, y, up]) => arrow(x, y, up))
    .join("");
}

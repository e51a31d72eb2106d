/** The training steps of a long run: each figure with a line over the steps, and what was new in which. */

import { grouped } from "../model/said";
import type { StepFigure, Steps } from "../wire";
import { trans } from "../words";
import { el, prose } from "./dom";
import { svg } from "./svg";

const WIDTH = 240;
const HEIGHT = 24;
const MARGIN = 2;

/** Nothing for a capture of a step or two. */
export function steps(overview: Steps | null | undefined): HTMLElement | null {
  if (!overview) return null;
  const rows = overview.figures.map((figure) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, figure.label),
      el("td", {}, figure.said),
      el("td", {}, plot(figure, overview.count)),
    ),
  );
  const news = overview.news.map(({ step, said, place }) =>
    el(
      "li",
      {},
      el("b", {}, `${trans.__("step %1", grouped(step))} `),
      prose(said),
      el("span", { class: "agi-place" }, ` ${place}`),
    ),
  );
  const { untold } = overview;
  if (untold) {
    const more = trans._n("… and %2 change more", "… and %2 changes more", untold, grouped(untold));
    news.push(el("li", {}, more));
  }
  return el(
    "details",
    { class: "agi-run", open: true },
    el("summary", {}, overview.said),
    el("table", {}, ...rows),
    news.length > 0 && el("ul", {}, ...news),
  );
}

/** A line, lowest value at the bottom; nothing where all steps are alike. */
function plot(figure: StepFigure, count: number): SVGElement | null {
  if (!figure.values.length) return null;
  const low = Math.min(...figure.values);
  const across = (WIDTH - 2 * MARGIN) / Math.max(count - 1, 1);
  const up = (HEIGHT - 2 * MARGIN) / Math.max(Math.max(...figure.values) - low, 1);
  const points = figure.values.map((value, n) => {
    const y = HEIGHT - MARGIN - (value - low) * up;
    return `${(MARGIN + figure.at[n]! * across).toFixed(1)},${y.toFixed(1)}`;
  });
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": trans._n(
        "%2 over %3 step: %4",
        "%2 over %3 steps: %4",
        count,
        figure.label,
        grouped(count),
        figure.said,
      ),
    },
    svg("polyline", { points: points.join(" ") }),
  );
}

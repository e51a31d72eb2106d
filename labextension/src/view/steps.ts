/** The training steps of a long run: each figure with a line over the steps, and what was new in which. */

import { counted } from "../model/shown";
import type { StepFigure, Steps } from "../wire";
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
      el("b", {}, `step ${step.toLocaleString("en")} `),
      prose(said),
      el("span", { class: "agi-place" }, ` ${place}`),
    ),
  );
  if (overview.untold) news.push(el("li", {}, `… and ${counted(overview.untold, "change")} more`));
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
      "aria-label": `${figure.label} over ${counted(count, "step")}: ${figure.said}`,
    },
    svg("polyline", { points: points.join(" ") }),
  );
}

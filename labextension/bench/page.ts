/** What bench/layout.mjs runs in the browser. */

import { createGraphView } from "../src/view/graph";
import { generated } from "../tests/layout/graphs";

const host = document.getElementById("host")!;
const drawn = () => new Promise<void>((go) => requestAnimationFrame(() => setTimeout(go)));

/** Time until the browser has painted what `act` changed. */
async function timed(act: () => void): Promise<number> {
  await drawn();
  const start = performance.now();
  act();
  host.getBoundingClientRect();
  await drawn();
  return performance.now() - start;
}

async function measured(size: number) {
  const graph = generated(Math.round(size / 51));
  const made: ReturnType<typeof createGraphView>[] = [];
  const paint = await timed(() => made.push(createGraphView(host, graph, { onSelect: () => {} })));
  const view = made[0]!;
  const block = host.querySelector<SVGElement>("[aria-expanded=false] .ai-toggle")!;
  const expand = await timed(() => block.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  view.expandTo(size > 10_000 ? 2 : 9);
  view.fit();
  const stage = host.querySelector<HTMLElement>(".ai-graph-view")!;
  const frames: number[] = [];
  await drawn();
  let last = await new Promise<number>(requestAnimationFrame);
  for (let n = 0; n < 60; n++) {
    const deltaY = n < 40 ? -90 : 90;
    const at = { clientX: 500, clientY: 300, ctrlKey: true, bubbles: true, cancelable: true };
    stage.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY }));
    const now = await new Promise<number>(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  view.destroy();
  const frame = frames.reduce((sum, time) => sum + time, 0) / frames.length;
  return { size, nodes: graph.nodes.length, paint, expand, frame, worst: Math.max(...frames) };
}

async function main(): Promise<void> {
  const results = [];
  for (const size of [850, 3000, 50000]) results.push(await measured(size));
  await fetch("/", { method: "POST", body: JSON.stringify(results) });
}

void main();

/** The graph in the page: `createGraphView` is all that the rest of the front end knows of it. */

import { everything, toDepth } from "../../layout/visible";
import type { CaptureGraph } from "../../model/graph";
import type { GraphView } from "../../model/graph_view";
import { trans } from "../../words";
import { el, focused } from "../dom";
import { standalone } from "./export_svg";
import { DIRECTIONS, neighbour } from "./keys";
import { filtered, gradientPath } from "./marks";
import { Outline } from "./outline";
import { listen } from "./pointer";
import { withProblemView } from "./problem_view";
import { Picture } from "./view";
import { itemAt } from "./where";

export const createGraphView = withProblemView(pictureView);

function pictureView(
  host: HTMLElement,
  graph: CaptureGraph,
  options: { onSelect(id: number | null): void },
): GraphView {
  const picture = new Picture(host, graph);
  const { camera, marking, layout } = picture;
  const { tree } = layout;

  const choose = (id: number | null): void => {
    const box = id === null ? null : (picture.item(id)?.box ?? null);
    marking.selected = new Set(box ? [box.id] : []);
    outline.select(marking.selected);
    if (box) picture.setFocus(box.id, true);
    picture.mark();
    options.onSelect(box?.node ? box.node.id : null);
  };
  const outline = new Outline(tree, layout.labels, picture.facts, new Set(picture.open), (box) => {
    marking.selected = new Set([box.id]);
    outline.select(marking.selected);
    picture.bring([box]);
    picture.mark();
    options.onSelect(box.node ? box.node.id : null);
  });
  picture.body.prepend(outline.root);
  const toggle = (id: number): void => {
    const box = picture.item(id)?.box;
    if (!box || box.children.length === 0) return;
    picture.toggle(box);
    picture.setFocus(id, true);
  };
  const engaged = (): boolean => picture.root.contains(focused(picture.root));
  const at = (x: number, y: number) => itemAt(picture.scene, camera, x, y);
  listen(picture.stage, camera, { pick: choose, toggle, at, engaged });
  picture.stage.addEventListener("keydown", (event) => {
    if (onKey(event, picture, choose, toggle)) event.preventDefault();
  });
  picture.foot.append(zoomButtons(picture));

  const size = (): void => picture.resize(picture.stage.clientWidth, picture.stage.clientHeight);
  const observer = globalThis.ResizeObserver ? new ResizeObserver(size) : null;
  observer?.observe(picture.stage);
  if (observer) size();
  else picture.resize(800, 480);

  return {
    select(ids, { focus = false } = {}) {
      const boxes = ids.flatMap((id) => tree.boxesOf.get(id));
      marking.selected = new Set(boxes.map((box) => box.id));
      outline.select(marking.selected);
      if (focus && boxes.length > 0) picture.bring(boxes);
      picture.mark();
    },
    expandTo: (depth) => picture.show(toDepth(tree, depth)),
    expandAll: () => picture.show(everything(tree)),
    filter(filter) {
      marking.keep(filtered(tree, filter));
      picture.mark();
    },
    match(ids) {
      marking.match(ids);
      picture.mark();
    },
    greyAfter(op) {
      marking.until(op);
      picture.mark();
    },
    path(node) {
      const nodes = node === null ? null : gradientPath(graph, node);
      marking.path(nodes);
      const { edges } = graph;
      const hot = (edge: number): boolean => {
        const { source, target, kind } = edges[edge]!;
        return kind === "gradient" && nodes!.has(source) && nodes!.has(target);
      };
      picture.highlight(nodes ? hot : undefined);
      picture.mark();
    },
    heat(values) {
      const most = marking.heat(values);
      picture.mark();
      return most;
    },
    outline: (on) => outline.show(on),
    fit: () => picture.fit(),
    svg: (...heading) => {
      const { scene, facts } = picture;
      return standalone(picture.root, { scene, labels: layout.labels, facts, heading });
    },
    destroy() {
      observer?.disconnect();
      picture.destroy();
    },
  };
}

/** Whether the key was meant for the graph. */
function onKey(
  event: KeyboardEvent,
  picture: Picture,
  choose: (id: number | null) => void,
  toggle: (id: number) => void,
): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const { camera, scene } = picture;
  const item = picture.item(picture.focus);
  const direction = DIRECTIONS[event.key];
  if (direction && item) {
    const next = neighbour(scene, item, direction);
    if (next) picture.setFocus(next.id, true);
    return true;
  }
  switch (event.key) {
    case "Enter":
      if (!item?.box) return false;
      if (item.box.children.length > 0) toggle(item.id);
      else choose(item.id);
      return true;
    case " ":
      choose(item ? item.id : null);
      return true;
    case "Escape": {
      const open = item?.open ? item.box : item?.box?.parent;
      if (!open || open.kind === "root") return false;
      toggle(open.id);
      return true;
    }
    case "+":
    case "=":
      camera.zoom(1.25);
      return true;
    case "-":
      camera.zoom(0.8);
      return true;
    case "0":
      picture.fit();
      return true;
    default:
      return false;
  }
}

function zoomButtons(picture: Picture): HTMLElement {
  const { camera } = picture;
  const actions: [string, string, () => void][] = [
    ["+", trans.__("Zoom in"), () => camera.zoom(1.25)],
    ["−", trans.__("Zoom out"), () => camera.zoom(0.8)],
    ["⤢", trans.__("Fit"), () => picture.fit()],
  ];
  const buttons = actions.map(([sign, title, act]) => {
    const click = (event: Event): void => {
      event.stopPropagation();
      act();
    };
    return el("button", { type: "button", title, "aria-label": title, on: { click } }, sign);
  });
  return el("div", { class: "agi-zoom" }, ...buttons);
}

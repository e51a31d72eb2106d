/** Stand-ins for what surrounds the shell: the kernel's model, and the picture. */

import { vi } from "vitest";
import type { CaptureGraph } from "../src/model/graph";
import type { GraphView } from "../src/model/graph_view";
import { mount } from "../src/mount";
import type { Model } from "../src/state/widget_model";
import { type Name, payload } from "./fixtures";

type Handler = (...args: unknown[]) => void;

export class FakeModel {
  sent: unknown[] = [];
  saved = 0;
  private readonly handlers = new Map<string, Set<Handler>>();
  private readonly traits: Record<string, unknown>;

  constructor(traits: Record<string, unknown>) {
    const none = new DataView(new ArrayBuffer(0));
    this.traits = {
      payload: "",
      buffer: none,
      other_payload: "",
      other_buffer: none,
      other_name: "",
      selected: [],
      ...traits,
    };
  }

  get(name: string): unknown {
    return this.traits[name];
  }
  set(name: string, value: unknown): void {
    this.traits[name] = value;
    this.fire(`change:${name}`);
  }
  save_changes(): void {
    this.saved += 1;
  }
  on(name: string, handler: Handler): void {
    this.handlers.set(name, (this.handlers.get(name) ?? new Set()).add(handler));
  }
  off(name: string, handler: Handler): void {
    this.handlers.get(name)?.delete(handler);
  }
  send(message: unknown): void {
    this.sent.push(message);
  }
  fire(name: string, ...args: unknown[]): void {
    for (const handler of this.handlers.get(name) ?? []) handler(...args);
  }
  get listeners(): number {
    return [...this.handlers.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

export interface Fake {
  model: FakeModel;
  el: HTMLElement;
  view: { [K in keyof GraphView]: ReturnType<typeof vi.fn> };
  /** As if the user clicked a node of the picture. */
  pick(id: number | null): void;
  close(): void;
  tab(name: string): HTMLElement;
  text(selector: string): string[];
}

export function show(name: Name, traits: Record<string, unknown> = {}): Fake {
  const { text, buffer } = payload(name);
  return showText({ payload: text, buffer, ...traits });
}

export function showText(traits: Record<string, unknown>): Fake {
  const model = new FakeModel(traits);
  const el = document.createElement("div");
  document.body.replaceChildren(el);
  const names = [
    "select",
    "expandTo",
    "expandAll",
    "filter",
    "match",
    "outline",
    "greyAfter",
    "path",
    "heat",
  ];
  const view = Object.fromEntries([...names, "fit", "destroy"].map((n) => [n, vi.fn()]));
  view.svg = vi.fn(() => "<svg xmlns='http://www.w3.org/2000/svg'/>");
  let pick: (id: number | null) => void = () => {};
  const create = (
    _host: HTMLElement,
    _graph: CaptureGraph,
    options: { onSelect(id: number | null): void },
  ) => {
    pick = options.onSelect;
    return view as unknown as GraphView;
  };
  const close = mount(model as unknown as Model, el, create);
  return {
    model,
    el,
    view: view as Fake["view"],
    pick: (id) => pick(id),
    close,
    tab(name) {
      const tab = [...el.querySelectorAll<HTMLElement>("[role=tab]")].find(
        (one) => one.firstChild?.textContent === name,
      )!;
      tab.click();
      return document.getElementById(tab.getAttribute("aria-controls")!)!;
    },
    text: (selector) => [...el.querySelectorAll(selector)].map((one) => one.textContent ?? ""),
  };
}

/** The button with that name. */
export function named(host: ParentNode, name: string): HTMLElement {
  const found = [...host.querySelectorAll<HTMLElement>("button, summary, input, select")].find(
    (one) => (one.getAttribute("aria-label") ?? one.textContent) === name,
  );
  if (!found) throw new Error(`nothing is named ${name}`);
  return found;
}

/** The id of the first node that fits. */
export function nodeOf(name: Name, fits: (text: string) => boolean): number {
  const wire = JSON.parse(payload(name).text);
  return (wire.nodes.name as number[]).findIndex((index) => fits(wire.strings[index]));
}

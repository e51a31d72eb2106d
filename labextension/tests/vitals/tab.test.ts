import { expect, test, vi } from "vitest";
import type { Context } from "../../src/view/context";
import { checkpoints } from "../../src/view/vitals/checkpoints";
import { HeatMap } from "../../src/view/vitals/heat_map";
import { lossScale } from "../../src/view/vitals/loss_scale";
import { memory } from "../../src/view/vitals/memory";
import { picture } from "../../src/view/vitals/picture";
import type { Vitals } from "../../src/wire";
import { type Fake, named, show } from "../fake";
import { capture } from "../fixtures";

function press(host: Element, key: string, more: KeyboardEventInit = {}): void {
  host.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }),
  );
}

function pick(panel: HTMLElement, name: string, text: string): void {
  const field = named(panel, name) as HTMLSelectElement;
  field.value = [...field.options].find((option) => option.textContent === text)!.value;
  field.dispatchEvent(new Event("change"));
}

function type(panel: HTMLElement, name: string, value: string, event: string): void {
  const field = named(panel, name) as HTMLInputElement;
  field.value = value;
  field.dispatchEvent(new Event(event));
}

const labels = (panel: HTMLElement) =>
  [...panel.querySelectorAll(".agi-vital-name")].map((name) => name.textContent);
const readout = (fake: Fake) => fake.text(".agi-readout")[0];

test("a capture without vitals has no such tab", () => {
  const names = show("broken").text("[role=tab]");
  expect(names.some((name) => name.startsWith("Vitals"))).toBe(false);
});

test("gradient norms come first, with the first NaN read out", () => {
  const fake = show("vitals");
  const panel = fake.tab("Vitals");
  expect(labels(panel)).toEqual(["net.0", "net.2", "net.4"]);
  expect((named(panel, "Quantity") as HTMLSelectElement).selectedOptions[0]!.textContent).toBe(
    "gradient norm",
  );
  expect(readout(fake)).toBe("net.0, step 12: 0");
  expect(fake.text(".agi-vital-value")).toEqual(["0", "0", "NaN"]);
  expect(panel.querySelectorAll(".agi-vital:nth-child(3) .agi-cross").length).toBe(1);
  expect(panel.querySelectorAll(".agi-vital:nth-child(1) .agi-shade-zero").length).toBe(1);
  expect(panel.querySelector(".agi-scale")!.textContent).toMatch(/exactly 0.*NaN or infinity/);
});

test("another quantity keeps the step that is read", () => {
  const fake = show("vitals");
  const panel = fake.tab("Vitals");
  pick(panel, "Quantity", "saturated activations");
  expect(labels(panel)).toEqual(["net.1", "net.3"]);
  expect(readout(fake)).toMatch(/^net\.1, step 12: /);
});

test("rows are sorted and filtered", () => {
  const fake = show("vitals");
  const panel = fake.tab("Vitals");
  pick(panel, "Order", "largest first");
  expect(labels(panel)).toEqual(["net.4", "net.0", "net.2"]);
  type(panel, "Filter modules", "NET.2", "input");
  expect(labels(panel)).toEqual(["net.2"]);
  type(panel, "Filter modules", "nothing", "input");
  expect(panel.querySelector(".agi-empty")!.textContent).toBe("No module matches.");
});

test("arrow keys read cells, and say them to a screen reader", () => {
  const fake = show("vitals");
  const rows = fake.tab("Vitals").querySelector(".agi-vital-rows")!;
  press(rows, "ArrowLeft");
  press(rows, "ArrowDown");
  press(rows, "ArrowDown");
  press(rows, "ArrowDown");
  expect(readout(fake)).toBe("net.4, step 11: 0.258, largest 0.278 in step 1");
  expect(fake.text(".agi-status")).toEqual([readout(fake)]);
  press(rows, "Home");
  expect(readout(fake)).toMatch(/^net\.4, step 1: /);
  press(rows, "Home", { shiftKey: true });
  expect(readout(fake)).toMatch(/^net\.0, step 1: /);
});

test("Enter and a click show the module in the graph", () => {
  const fake = show("vitals");
  const panel = fake.tab("Vitals");
  const rows = panel.querySelector(".agi-vital-rows")!;
  press(rows, "ArrowDown");
  press(rows, "Enter");
  expect(fake.el.querySelector("[role=tab][aria-selected=true]")!.textContent).toBe("Graph");
  const chosen = fake.view.select!.mock.lastCall![0] as number[];
  const found = capture("vitals");
  const names = chosen.map((id) => found.tensor(found.data.nodes.tensor[id]!).name);
  expect(names).toEqual(expect.arrayContaining(["net.2.weight", "net.2.bias"]));
  expect(names.some((name) => name.startsWith("net.4"))).toBe(false);
  fake.tab("Vitals");
  panel.querySelectorAll<HTMLElement>(".agi-vital-name")[2]!.click();
  expect(fake.view.select!.mock.lastCall![0]).not.toEqual(chosen);
});

test("the line of the row that is read stands beside its value", () => {
  const fake = show("vitals");
  const rows = fake.tab("Vitals").querySelector(".agi-vital-rows")!;
  expect(fake.text(".agi-readout-line")[0]).toMatch(/^programs\.py:\d+$/);
  press(rows, "ArrowDown");
  expect(fake.text(".agi-readout-line")[0]).toMatch(/^programs\.py:\d+$/);
});

test("a part of the steps is chosen by typing, and all of them again by a button", () => {
  const fake = show("vitals");
  const panel = fake.tab("Vitals");
  type(panel, "Last step", "4", "change");
  expect(panel.querySelector(".agi-heat > svg")!.getAttribute("viewBox")).toBe("0 0 4 1");
  expect(readout(fake)).toMatch(/^net\.0, step 4: /);
  type(panel, "First step", "9", "change");
  expect(panel.querySelector(".agi-heat > svg")!.getAttribute("viewBox")).toBe("0 0 6 1");
  named(panel, "All steps").click();
  expect(panel.querySelector(".agi-heat > svg")!.getAttribute("viewBox")).toBe("0 0 12 1");
});

test("a single step is shown as bars, without an axis", () => {
  const panel = show("attached").tab("Vitals");
  const lengths = [...panel.querySelectorAll<HTMLElement>(".agi-vital-bar")].map((bar) =>
    Number.parseFloat(bar.style.width),
  );
  expect(lengths.length).toBe(2);
  expect(lengths[0]).toBeLessThan(lengths[1]!);
  expect(panel.querySelector(".agi-axis")).toBeNull();
});

const CONTEXT = { capture: capture("vitals"), reveal: null } as unknown as Context;

test("what set the peak of the step that is read is named, with its line", () => {
  const fake = show("vitals");
  const rows = fake.tab("Vitals").querySelector(".agi-vital-rows")!;
  press(rows, "Home");
  expect(fake.text(".agi-peak-op")[0]).toMatch(/^peak set by AdamW\.step programs\.py:\d+$/);
  press(rows, "ArrowRight");
  expect(fake.text(".agi-peak-op")[0]).toMatch(
    /^peak set by backward of linear in net\.2 programs\.py:\d+$/,
  );
});

test("memory is stacked, with the bytes of the step that is read", () => {
  const { host, at } = memory(CONTEXT, {
    ...capture("vitals").data.vitals!,
    steps: [1, 2],
    memory: [
      { label: "parameters", values: [100, 100] },
      { label: "saved", values: [100, null] },
      { label: "peak", values: [400, 200] },
    ],
  })!;
  at(0);
  const key = () => [...host.querySelectorAll("li")].map((line) => line.textContent);
  expect(host.querySelector("h4")!.textContent).toBe("Memory in step 1");
  expect(key()).toEqual(["parameters 100 B", "saved 100 B", "peak 400 B"]);
  at(1);
  expect(key()).toEqual(["parameters 100 B", "saved not measured", "peak 200 B"]);
  expect(host.querySelector(".agi-area.agi-bytes-saved")!.getAttribute("d")).toBe(
    "M0 48v-16h1v16z",
  );
  expect(host.querySelector(".agi-peak")!.getAttribute("d")).toBe("M0 0h1M1 32h1");
  expect(memory(CONTEXT, { ...capture("vitals").data.vitals!, memory: [] })).toBeNull();
});

test("the loss scale is drawn over its updates, and its falls are counted", () => {
  const found = { updates: [1, 2, 4], scale: [1024, 512, 256] } as unknown as Vitals;
  expect(lossScale(found)!.textContent).toBe("Loss scale1,024 → 256, 4 updates, lowered 2 times");
  expect(lossScale({ updates: [], scale: [] } as unknown as Vitals)).toBeNull();
});

test("the picture that is exported has the rows in sight, their cells and the legend", () => {
  const vitals = capture("vitals").data.vitals!;
  const events = { choose: vi.fn(), line: () => null, moved: vi.fn(), said: vi.fn() };
  const map = new HeatMap(vitals, vitals.quantities[0]!, events);
  map.show({ text: "net.4", columns: [2, 11] });
  const drawn = new DOMParser().parseFromString(picture(map), "image/svg+xml");
  const texts = [...drawn.querySelectorAll("text")].map((text) => text.textContent);
  expect(texts[0]).toBe("gradient norm, steps 3 to 12");
  expect(texts).toEqual(expect.arrayContaining(["net.4", "NaN"]));
  expect(texts).not.toContain("net.2");
  expect(drawn.querySelectorAll("g path").length).toBeGreaterThan(2);
});

test("what checkpointing would save is said in a line, and its table leads to the modules", () => {
  const chosen = vi.fn();
  const saving = { type: "Block", before: 4000, held: 1000, peak: 1500, ops: 8 };
  const several = { ...saving, name: "net.blocks.*", modules: ["net.blocks.0", "net.blocks.1"] };
  const host = checkpoints([several], chosen)!;
  expect(host.querySelector("summary")!.textContent).toBe(
    "Checkpointing net.blocks.* would keep 1 kB for backward instead of 4 kB",
  );
  const cells = [...host.querySelectorAll("tbody :is(th, td)")].map((cell) => cell.textContent);
  expect(cells).toEqual(["net.blocks.* 2 × Block", "1 kB", "1.5 kB", "8 ops"]);
  named(host, "net.blocks.*").click();
  expect(chosen).toHaveBeenCalledExactlyOnceWith(several);
  expect(checkpoints([], chosen)).toBeNull();
});

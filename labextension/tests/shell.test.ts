import { expect, test, vi } from "vitest";
import { named, nodeOf, show, showText } from "./fake";
import { payload } from "./fixtures";

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

test("the root is ready once it was painted", async () => {
  const { el } = show("broken");
  const root = el.querySelector(".autograd-inspector")!;
  expect(root.getAttribute("data-state")).toBe("loading");
  await nextFrame();
  expect(root.getAttribute("data-state")).toBe("ready");
});

test("the header tells cell, ops, nodes, bytes, time and findings by severity", () => {
  const { text } = show("broken");
  const header = text(".agi-header")[0]!;
  for (const said of [
    /programs\.py/,
    /7 ops/,
    /7 autograd nodes/,
    /264 B saved/,
    /ms/,
    /1 error/,
  ]) {
    expect(header).toMatch(said);
  }
});

test("there are five tabs, one region named Details, and the graph is in front", () => {
  const { el } = show("broken");
  const tabs = [...el.querySelectorAll("[role=tab]")];
  expect(tabs.map((tab) => tab.firstChild!.textContent)).toEqual([
    "Graph",
    "Findings",
    "Timeline",
    "Optimizer",
    "Compare",
  ]);
  expect(tabs.map((tab) => tab.getAttribute("aria-selected"))).toContain("true");
  expect(el.querySelectorAll("section[aria-label=Details]")).toHaveLength(1);
});

test("arrows, Home and End move between tabs", () => {
  const { el } = show("broken");
  const tabs = [...el.querySelectorAll<HTMLElement>("[role=tab]")];
  const press = (key: string) =>
    document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  tabs[0]!.focus();
  press("ArrowLeft");
  expect(document.activeElement).toBe(tabs[4]);
  press("Home");
  press("ArrowRight");
  expect(tabs[1]!.getAttribute("aria-selected")).toBe("true");
  expect(tabs.filter((tab) => tab.tabIndex === 0)).toEqual([tabs[1]]);
});

test("a selection in the picture reaches Python, and the details", () => {
  const fake = show("broken");
  const sigmoid = nodeOf("broken", (name) => name === "sigmoid");
  fake.pick(sigmoid);
  expect(fake.model.get("selected")).toEqual([sigmoid]);
  expect(fake.model.saved).toBe(1);
  const details = fake.text("section[aria-label=Details]")[0]!;
  for (const said of [
    "SigmoidBackward0",
    "torch.sigmoid(self.encoder(x))",
    "saved v0, now v1",
    "modified",
  ]) {
    expect(details).toContain(said);
  }
  expect(fake.view.select).not.toHaveBeenCalledWith([sigmoid], { focus: true });
  fake.pick(null);
  expect(fake.model.get("selected")).toEqual([]);
});

test("a selection made in Python reaches the picture", () => {
  const fake = show("broken");
  fake.model.set("selected", [2]);
  expect(fake.view.select).toHaveBeenLastCalledWith([2], { focus: true });
  expect(fake.model.saved).toBe(0);
});

test("neighbours are links", () => {
  const fake = show("broken");
  fake.pick(nodeOf("broken", (name) => name === "sigmoid"));
  const link = named(
    fake.el.querySelector("section[aria-label=Details]")!,
    "net.norm · layer_norm",
  );
  link.click();
  expect(fake.text("section[aria-label=Details] h3")).toEqual(["layer_norm"]);
});

test("tools act on the picture", () => {
  const fake = show("detached");
  named(fake.el, "Expand to depth 2").click();
  expect(fake.view.expandTo).toHaveBeenCalledWith(2);
  named(fake.el, "Expand all").click();
  expect(fake.view.expandAll).toHaveBeenCalled();
  named(fake.el, "Only the problem").click();
  expect(fake.view.filter).toHaveBeenLastCalledWith({ problems: true });
  named(fake.el, "Only the problem").click();
  named(fake.el, "Parameters").click();
  expect(fake.view.filter).toHaveBeenLastCalledWith({ problems: false, parameters: true });
  named(fake.el, "Gradient path").click();
  fake.pick(3);
  expect(fake.view.path).toHaveBeenLastCalledWith(3);
});

test("the picture is coloured by the bytes that each node saved", () => {
  const fake = show("broken");
  fake.view.heat.mockReturnValue(96);
  named(fake.el, "Bytes saved").click();
  expect(fake.text(".agi-heat-scale:not([hidden])")).toEqual(["096 B"]);
  const [bytes] = fake.view.heat.mock.lastCall as [Float64Array];
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
  expect(fake.text("[role=status]")[0]).toContain("96 B");
  named(fake.el, "Bytes saved").click();
  expect(fake.view.heat).toHaveBeenLastCalledWith(null);
});

test("the picture is coloured by one thing at a time", () => {
  const fake = show("attached");
  named(fake.el, "Bytes saved").click();
  fake.view.heat.mockReturnValue(25);
  named(fake.el, "Gradient norm").click();
  expect(named(fake.el, "Bytes saved").getAttribute("aria-pressed")).toBe("false");
  expect(fake.text(".agi-heat-scale:not([hidden])")).toEqual(["05"]);
  const [squares] = fake.view.heat.mock.lastCall as [Float64Array];
  const weight = nodeOf("attached", (name) => name === "encoder.weight");
  expect(squares[weight]).toBeGreaterThan(0);
});

test("without values there is no gradient norm to colour by", () => {
  expect(() => named(show("broken").el, "Gradient norm")).toThrow();
});

test("the menu of filters tells how many are in force", () => {
  const fake = show("broken");
  const opener = named(fake.el, "Filters");
  named(fake.el, "Only the problem").click();
  named(fake.el, "Parameters").click();
  expect(opener.textContent).toBe("Filters (2)");
  named(fake.el, "Only the problem").click();
  named(fake.el, "Parameters").click();
  expect(opener.textContent).toBe("Filters");
});

test("the first thing that is said is the line that did it, then why, then the fix", () => {
  const fake = show("broken");
  const header = fake.el.querySelector(".agi-header")!;
  const answer = header.firstElementChild!;
  expect(answer.getAttribute("aria-label")).toBe("Answer");
  const [title, line, why, fix] = [...answer.children].map((part) => part.textContent!);
  expect(title).toMatch(/error.*AG201 saved-tensor-modified/);
  expect(line).toMatch(/^hidden\.add_\(1\.0\)programs\.py:\d+$/);
  expect(why).toMatch(/modified in place by/);
  expect(fix).toMatch(/^Fix/);
});

test("the finding is chosen before anybody chooses, and Python is not told", () => {
  const fake = show("broken");
  expect(fake.text("section[aria-label=Details] h3")).toEqual(["Where it happened"]);
  expect(fake.view.select).toHaveBeenCalledWith(expect.arrayContaining([expect.any(Number)]), {
    focus: true,
  });
  expect(fake.model.saved).toBe(0);
  expect(fake.model.get("selected")).toEqual([]);
});

test("what the program raised can be read below the lines of its finding", () => {
  const { text, buffer } = payload("broken");
  const wire = JSON.parse(text);
  wire.head.error = "RuntimeError: one of the variables needed";
  const fake = showText({ payload: JSON.stringify(wire), buffer });
  expect(fake.text(".agi-details .agi-raised")).toEqual([`the program raised ${wire.head.error}`]);
  expect(fake.text(".agi-header .agi-raised")).toEqual([]);
});

test("without a finding or a selection there are no details, and the picture has their room", () => {
  const fake = show("attached");
  const details = fake.el.querySelector<HTMLElement>("section[aria-label=Details]")!;
  expect(details.hidden).toBe(true);
  fake.pick(0);
  expect(details.hidden).toBe(false);
});

test("a node with a finding leads back to it", () => {
  const fake = show("broken");
  fake.pick(nodeOf("broken", (name) => name === "add_"));
  expect(fake.text("section[aria-label=Details] h3")).toEqual(["add_"]);
  named(
    fake.el.querySelector("section[aria-label=Details]")!,
    "AG201 saved-tensor-modified",
  ).click();
  expect(fake.text("section[aria-label=Details] h3")).toEqual(["Where it happened"]);
});

test("a question mark shows the keys, Escape hides them", () => {
  const fake = show("broken");
  const keys = fake.el.querySelector<HTMLElement>("section[aria-label=Keys]")!;
  const press = (key: string) =>
    named(fake.el, "Keys").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  expect(keys.hidden).toBe(true);
  press("?");
  expect(keys.hidden).toBe(false);
  press("Escape");
  expect(keys.hidden).toBe(true);
});

test("a stroke goes to the search, a question mark in it is text", () => {
  const fake = show("broken");
  const press = (host: HTMLElement, key: string) =>
    host.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press(named(fake.el, "Keys"), "/");
  const search = named(fake.el, "Search the graph");
  expect(document.activeElement).toBe(search);
  press(search, "?");
  expect(fake.el.querySelector<HTMLElement>("section[aria-label=Keys]")!.hidden).toBe(true);
});

test("search finds nodes by name, line and rule; Enter goes from one to the next", () => {
  const fake = show("broken");
  const input = named(fake.el, "Search the graph") as HTMLInputElement;
  const search = (text: string) => {
    input.value = text;
    input.dispatchEvent(new Event("input"));
    return fake.text("[role=toolbar] output")[0];
  };
  expect(search("SigmoidBackward0")).toBe("1 match");
  expect(search("hidden.add_")).toBe("1 match");
  expect(search("AG201")).toMatch(/[1-9]\d* match/);
  expect(fake.view.match.mock.lastCall).not.toEqual([[]]);
  expect(search("Linear")).toMatch(/[1-9]\d* match/);
  expect(search("nothing of the kind")).toBe("0 matches");
  search("sigmoid");
  input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  expect(fake.model.get("selected")).toHaveLength(1);
});

test("what is named so is found before what only stands on a line with the word", () => {
  const fake = show("broken");
  const input = named(fake.el, "Search the graph") as HTMLInputElement;
  const search = (text: string) => {
    input.value = text;
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    return [fake.text("[role=toolbar] output")[0], fake.model.get("selected")];
  };
  // The line is torch.sigmoid(self.encoder(x)): the encoder's linear stands on it too, and ran before.
  const sigmoid = nodeOf("broken", (name) => name === "sigmoid");
  expect(search("sigmoid")).toEqual(["1 of 1", [sigmoid]]);
  // A module is one thing, whatever lies in it; its parameters are called `norm.weight`.
  const norm = nodeOf("broken", (name) => name === "layer_norm");
  expect(search("norm")[1]).toEqual([norm]);
});

test("a damaged or foreign capture is refused in one line", () => {
  for (const text of ["", "{}", '{"wire": 2}', payload("broken").text.slice(0, 900)]) {
    const { el } = showText({ payload: text });
    const said = el.querySelector("[role=alert]")!.textContent!;
    expect(said).toMatch(/^autograd_inspector: this/);
    expect(said).not.toContain("\n");
  }
});

test("names of the program never become markup", () => {
  const evil = '<img src=x onerror="globalThis.pwned=1"><script>pwned=1</script>';
  const wire = JSON.parse(payload("detached").text);
  wire.strings = wire.strings.map((text: string) => (text.length > 12 ? evil + text : text));
  wire.findings[0].message = wire.findings[0].fix = wire.head.cell = wire.head.error = evil;
  const fake = showText({ payload: JSON.stringify(wire) });
  for (const name of ["Findings", "Timeline", "Optimizer", "Compare", "Graph"]) fake.tab(name);
  for (let id = 0; id < wire.nodes.kind.length; id++) fake.pick(id);
  expect(fake.el.querySelectorAll("img, script")).toHaveLength(0);
  expect(fake.el.textContent).toContain("<script>");
});

test("what was made is taken away again", () => {
  const fake = show("broken");
  expect(fake.model.listeners).toBeGreaterThan(0);
  fake.close();
  expect(fake.model.listeners).toBe(0);
  expect(fake.view.destroy).toHaveBeenCalled();
  expect(fake.el.children).toHaveLength(0);
});

test("another payload is shown in place of the first", () => {
  const fake = show("broken");
  fake.model.set("payload", payload("detached").text);
  expect(fake.el.querySelectorAll(".autograd-inspector")).toHaveLength(1);
  expect(fake.text(".agi-header")[0]).toContain("1 warning");
});

test("exports ask Python, and say what came of it", async () => {
  vi.useFakeTimers();
  const fake = show("broken");
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => {});
  URL.createObjectURL = vi.fn(() => "blob:x");
  URL.revokeObjectURL = vi.fn();
  named(fake.el, "DOT").click();
  await vi.advanceTimersByTimeAsync(1);
  expect(fake.model.sent.at(-1)).toEqual({ command: "export", id: 0, format: "dot" });
  fake.model.fire("msg:custom", { id: 0, text: "digraph {}" });
  await vi.advanceTimersByTimeAsync(1);
  expect(fake.text("[role=status]")).toContain("exported autograd.dot");
  named(fake.el, "JSON").click();
  expect(fake.text(".agi-status.agi-seen")).toEqual(["making autograd.json …"]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(fake.text(".agi-status.agi-seen")[0]).toMatch(/no JSON: no answer/);
  named(fake.el, "SVG").click();
  await vi.advanceTimersByTimeAsync(1);
  expect(fake.text("[role=status]")).toContain("exported autograd.svg");
  vi.useRealTimers();
});

import { expect, test } from "vitest";
import { diff } from "../src/model/diff";
import { graphOf } from "../src/model/graph_of";
import { momentsOf } from "../src/model/moments";
import { named, nodeOf, show } from "./fake";
import { capture, payload } from "./fixtures";

test("findings are a list: the one that is read is open, with its lines and its fix", () => {
  const fake = show("broken");
  const panel = fake.tab("Findings");
  const rows = [...panel.querySelectorAll<HTMLDetailsElement>(".agi-finding")];
  expect(rows.map((row) => row.open)).toEqual([true]);
  const told = [...panel.querySelectorAll(".agi-excerpt-lines > li:not(.agi-gap)")].map((line) => [
    line.querySelector(".agi-role")?.textContent ?? "",
    line.classList.contains("agi-culprit"),
    line.querySelector(".agi-source")!.textContent!.trim(),
  ]);
  const [culprit] = told.filter(([, mark]) => mark);
  expect(culprit).toEqual(["modified here", true, "hidden.add_(1.0)"]);
  const roles = told.map(([role]) => role).filter((role) => role !== "");
  expect(roles).toEqual(expect.arrayContaining(["saved here", "modified here", "needed here"]));
  expect(panel.querySelectorAll(".agi-steps > li").length).toBeGreaterThan(0);
  expect(panel.querySelector(".agi-fix-text")!.textContent!.length).toBeGreaterThan(10);
  for (const what of ["the fix", "the place", "the finding"]) named(panel, `Copy ${what}`);
  panel.querySelector<HTMLElement>(".agi-show")!.click();
  expect(fake.el.querySelector("[aria-selected=true]")!.textContent).toBe("Graph");
  expect(fake.view.select).toHaveBeenLastCalledWith(
    expect.arrayContaining([nodeOf("broken", (name) => name === "add_")]),
    { focus: true },
  );
});

test("the focus goes along to the graph, and stays where nobody was in what is hidden", () => {
  const fake = show("broken");
  const panel = fake.tab("Findings");
  const seen = panel.querySelector<HTMLElement>(".agi-show")!;
  seen.focus();
  seen.click();
  expect(document.activeElement!.getAttribute("role")).toBe("tabpanel");
  expect(document.activeElement!.contains(fake.el.querySelector(".agi-stage"))).toBe(true);
  const tab = fake.el.querySelector<HTMLElement>("[role=tab]")!;
  tab.focus();
  fake.tab("Timeline");
  expect(document.activeElement).toBe(tab);
});

test("the absence of findings is said", () => {
  const fake = show("attached");
  expect(fake.tab("Findings").textContent).toMatch(/No findings/);
});

test("the timeline has ops, version bumps, grad modes, backward and steps in order", () => {
  const moments = momentsOf(capture("detached"));
  const kinds = moments.map((moment) => moment.kind).filter((kind) => kind !== "op");
  expect(kinds).toEqual(["mode", "mode", "backward", "step"]);
  const step = moments.at(-1)!;
  expect([step.title, step.node >= 0]).toEqual(["AdamW.step", true]);
  expect(step.said).toMatch(/wrote \d+ of \d+/);
  expect(moments.filter((moment) => moment.op >= 0).map((m) => m.op)).toEqual([
    0, 1, 2, 3, 4, 5, 6,
  ]);
  const bump = momentsOf(capture("broken")).find((moment) => moment.title === "add_")!;
  expect(bump.said).toContain("hidden v0 → v1");
});

test("the slider takes the program back in time", () => {
  const fake = show("broken");
  const panel = fake.tab("Timeline");
  const slider = named(panel, "Time") as HTMLInputElement;
  slider.value = "2";
  slider.dispatchEvent(new Event("input"));
  expect(fake.view.greyAfter).toHaveBeenLastCalledWith(2);
  expect(slider.getAttribute("aria-valuetext")).toMatch(/3 of 8: sigmoid/);
  expect(panel.querySelectorAll("li.agi-moment.agi-later").length).toBe(5);
  expect(panel.querySelector(".agi-code .agi-now")!.textContent).toContain("torch.sigmoid");
  slider.value = slider.max;
  slider.dispatchEvent(new Event("input"));
  expect(fake.view.greyAfter).toHaveBeenLastCalledWith(null);
});

test("a line of the source goes to the moment when it ran first", () => {
  const fake = show("broken");
  const panel = fake.tab("Timeline");
  named(panel, "hidden.add_(1.0)").click();
  expect((named(panel, "Time") as HTMLInputElement).value).toBe("5");
});

test("the placement is a table with bars; a row selects its node, a node its row", () => {
  const fake = show("detached");
  const panel = fake.tab("Optimizer");
  expect(panel.textContent).toMatch(/Bytes by device/);
  expect(panel.querySelectorAll("tbody tr")).toHaveLength(4);
  named(panel, "head.weight").click();
  const leaf = (fake.model.get("selected") as number[])[0]!;
  expect(panel.querySelector("tr.agi-selected")!.getAttribute("data-parameter")).toBe(
    "head.weight",
  );
  fake.pick(null);
  expect(panel.querySelector("tr.agi-selected")).toBeNull();
  fake.pick(leaf);
  expect(panel.querySelector("tr.agi-selected")).not.toBeNull();
});

test("the placement sorts, filters and folds", () => {
  const fake = show("packed");
  const panel = fake.tab("Optimizer");
  const names = () =>
    [...panel.querySelectorAll("tr[data-parameter]")].map((row) =>
      row.getAttribute("data-parameter"),
    );
  const all = names();
  named(panel, "Sort by bytes").click();
  expect(panel.querySelector("th[aria-sort=descending]")!.textContent).toContain("bytes");
  expect(names()[0]).toMatch(/weight/);
  named(panel, "Sort by parameter").click();
  expect(names()).toEqual([...all].sort((a, b) => a!.localeCompare(b!, "en", { numeric: true })));
  const input = named(panel, "Filter parameters") as HTMLInputElement;
  input.value = "bias";
  input.dispatchEvent(new Event("input"));
  expect(names().length).toBe(all.length / 2);
  input.value = "";
  input.dispatchEvent(new Event("input"));
  named(panel, "Fold by module").click();
  expect(names()).toEqual([]);
  panel.querySelector<HTMLElement>("[aria-expanded=false]")!.click();
  expect(names()).toHaveLength(2);
});

test("a parameter opens into its tensors, each with device, dtype and bytes", () => {
  const panel = show("detached").tab("Optimizer");
  named(panel, "Entries of head.bias").click();
  const entries = [...panel.querySelectorAll("tr[data-entry]")].map((row) =>
    [...row.children].map((cell) => cell.textContent).filter(Boolean),
  );
  expect(entries.map(([name]) => name)).toEqual([
    "parameter",
    "gradient",
    "gradient from",
    "step",
    "exp_avg",
    "exp_avg_sq",
  ]);
  expect(entries[4]).toEqual(["exp_avg", "1", "float32", "cpu", "4 B"]);
  expect(document.activeElement!.getAttribute("aria-expanded")).toBe("true");
  named(panel, "Every entry").click();
  expect(panel.querySelectorAll("tr[data-entry=parameter]")).toHaveLength(4);
});

test("state that is not where its parameter is stands out", () => {
  const wire = JSON.parse(payload("detached").text);
  wire.strings.push("meta");
  wire.state.device[1] = wire.strings.length - 1;
  const fake = show("detached", { payload: JSON.stringify(wire) });
  const panel = fake.tab("Optimizer");
  expect(panel.querySelector("tr.agi-wrong")!.textContent).toMatch(/on meta: exp_avg/);
  named(panel, "Only mismatches (1)").click();
  expect(panel.querySelectorAll("tr[data-parameter]")).toHaveLength(1);
});

test("a comparison tells what is newly cut, reached no more, gone and added", () => {
  const found = diff(graphOf(capture("attached")), graphOf(capture("detached")));
  expect(found.cut.map((change) => change.text)).toEqual(["detach"]);
  expect(found.lost).toHaveLength(2);
  expect(found.added.map((change) => change.text)).toContain("detach");
  const back = diff(graphOf(capture("detached")), graphOf(capture("attached")));
  expect(back.reached).toHaveLength(2);
  expect(back.mended).toHaveLength(1);
  expect(back.gone.map((change) => change.node)).toContain(-1);
});

test("a capture differs in nothing from itself", () => {
  const graph = graphOf(capture("broken"));
  const { pairs, ...changes } = diff(graph, graph);
  expect(pairs.size).toBe(graph.nodes.length);
  expect(Object.values(changes).flat()).toEqual([]);
});

test("the comparison shows both, and selects what is new", () => {
  const other = payload("attached");
  const fake = show("detached", {
    other_payload: other.text,
    other_buffer: other.buffer,
    other_name: "before",
  });
  const panel = fake.tab("Compare");
  expect(panel.querySelector("thead")!.textContent).toContain("before");
  named(panel, "Show in graph: Newly cut").click();
  const detach = nodeOf("detached", (name) => name === "detach");
  expect(fake.model.get("selected")).toEqual([detach]);
  expect(fake.view.select).toHaveBeenCalledWith([detach], { focus: true });
});

test("without another capture the comparison says how to have one", () => {
  expect(show("broken").tab("Compare").textContent).toContain("report.widget(compare=");
});

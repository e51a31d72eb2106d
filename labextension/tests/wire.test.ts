import { describe, expect, test } from "vitest";
import { decode, WireError } from "../src/model/decode";
import { graphOf } from "../src/model/graph_of";
import { capture, payload } from "./fixtures";

// biome-ignore lint/suspicious/noExplicitAny: it is damaged on purpose
type Loose = Record<string, any>;

/** The broken capture with something else in it. */
function changed(change: (wire: Loose) => void): string {
  const wire = JSON.parse(payload("broken").text);
  change(wire);
  return JSON.stringify(wire);
}

describe("a capture that is whole", () => {
  test("has the nodes, saved tensors and lines that the program had", () => {
    const broken = capture("broken");
    const graph = graphOf(broken);
    const sigmoid = graph.nodes.find((node) => node.name === "sigmoid")!;
    expect(sigmoid.gradFns).toEqual(["SigmoidBackward0"]);
    const modified = graph.nodes.filter((node) => node.modified.length);
    expect(modified).toContain(sigmoid);
    expect(sigmoid).toMatchObject({ path: "net", device: "cpu", shape: "3×8" });
    expect(sigmoid.modified[0]).toEqual({ name: "result", saved: 0, now: 1 });
    expect(modified.some((node) => node.failed)).toBe(true);
    expect(broken.place(sigmoid.site)!.source).toContain("torch.sigmoid");
  });

  test("leads from who saved its own result to who modified it", () => {
    const graph = graphOf(capture("broken"));
    const name = (id: number) => graph.nodes.find((node) => node.id === id)!.name;
    const edges = graph.edges.filter((edge) => edge.kind === "modified");
    expect(edges.map((edge) => [name(edge.source), name(edge.target), edge.cause])).toContainEqual([
      "sigmoid",
      "add_",
      "v0→v1",
    ]);
  });

  test("marks the nodes that a finding is about", () => {
    const graph = graphOf(capture("broken"));
    expect(graph.nodes.filter((node) => node.findings.length).map((n) => n.name)).toContain("add_");
  });

  test("tells cuts, grad modes and gradients", () => {
    const graph = graphOf(capture("detached"));
    expect(graph.edges.filter((edge) => edge.kind === "severed" && edge.live)[0]!.cause).toBe(
      "detached",
    );
    expect(graph.nodes.find((node) => node.name === "mean")!.region).toBe("no_grad");
    const parameters = graph.nodes.filter((node) => node.kind === "parameter");
    expect(parameters.map((node) => node.gradient)).toEqual(["none", "none", "present", "present"]);
  });

  test("reads the same from a buffer", () => {
    const graph = graphOf(capture("packed"));
    expect(graph.nodes.length).toBeGreaterThan(20);
    expect(graph.calls.some((call) => call.type === "Linear")).toBe(true);
    expect(graph.nodes.every((node) => node.kind && node.name)).toBe(true);
  });
});

describe("what is no capture is refused in one line", () => {
  const refused: [string, string, RegExp][] = [
    ["no JSON", "<html>", /not JSON/],
    ["other JSON", "[]", /not an autograd_inspector capture/],
    ["null", "null", /not an autograd_inspector capture/],
    ["another version", '{"wire": 99}', /version 99; this widget reads version 1/],
    ["no tables", '{"wire": 1}', /damaged: nodes/],
    ["a column missing", changed((w) => delete w.nodes.kind), /damaged: nodes\.kind/],
    ["columns of unlike length", changed((w) => w.nodes.name.pop()), /damaged: nodes\.name/],
    ["text in a column", changed((w) => w.edges.source.fill("x")), /damaged: edges\.source/],
    ["an edge to nowhere", changed((w) => w.edges.target.fill(9999)), /damaged: edges\.target/],
    ["counts that do not add up", changed((w) => w.nodes.saved.fill(7)), /damaged: saved/],
    ["a circle of calls", changed((w) => w.calls.parent.fill(3)), /damaged: calls\.parent/],
    ["no findings", changed((w) => delete w.findings), /damaged: findings/],
  ];
  test.each(refused)("%s", (_, text, said) => {
    expect(() => decode(text)).toThrow(WireError);
    expect(() => decode(text)).toThrow(said);
    try {
      decode(text);
    } catch (error) {
      expect((error as Error).message).not.toContain("\n");
    }
  });

  test("a buffer that was cut off", () => {
    expect(() => decode(payload("packed").text, new ArrayBuffer(8))).toThrow(/damaged: nodes/);
  });
});

import { describe, expect, test } from "vitest";
import { adding, type Edit, hasHeader, magicOf, removing } from "../../src/lab/commands/header";
import { nextIndex } from "../../src/lab/commands/next_index";
import { belowRoot, cellFor, isLibrary } from "../../src/lab/editor/places";
import { isAutogradError } from "../../src/lab/offer/autograd_errors";
import { modelIdOf } from "../../src/lab/saved/mime";
import {
  attributesOf,
  configuring,
  DEFAULTS,
  preferences,
} from "../../src/lab/settings/appearance";

const edited = (source: string, edit: Edit | null) =>
  edit && source.slice(0, edit.start) + edit.text + source.slice(edit.end);

describe("the header", () => {
  test("goes on top, and comes away again with its options, leaving the cell as it was", () => {
    const source = "x = 1\ny = 2";
    const headed = edited(source, adding(source))!;
    expect(headed).toBe("%%autograd_inspect\nx = 1\ny = 2");
    expect(hasHeader(headed)).toBe(true);
    expect(edited(headed, removing(headed))).toBe(source);
    const optioned = "\n%%autograd_inspect --values\nx = 1";
    expect(edited(optioned, removing(optioned))).toBe("\nx = 1");
  });

  test("is not put above another magic, and is not taken for one of a longer name", () => {
    expect(adding("%%time\nx = 1")).toBeNull();
    expect(magicOf("\n  %%timeit -n 3\nx")).toBe("%%timeit");
    expect(hasHeader("%%autograd_inspector\nx")).toBe(false);
    expect(removing("x = '''\n%%autograd_inspect\n'''")).toBeNull();
    expect(edited("", adding(""))).toBe("%%autograd_inspect\n");
    expect(edited("%%autograd_inspect", removing("%%autograd_inspect"))).toBe("");
  });
});

test.each([
  "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]]",
  "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
  "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed).",
  "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
  "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.",
  "RuntimeError: grad can be implicitly created only for scalar outputs",
  "RuntimeError: Inference tensors cannot be saved for backward. To work around you can make a clone",
  "RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed.",
  "RuntimeError: Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
  "RuntimeError: Output 0 of UnbindBackward0 is a view and is being modified inplace. This view is the output of a function that returns multiple views.",
  "RuntimeError: One of the differentiated Tensors appears to not have been used in the graph.",
  "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
  "RuntimeError: you can only change requires_grad flags of leaf variables.",
  "ValueError: can't optimize a non-leaf Tensor",
  "RuntimeError: function SquareBackward returned an incorrect number of gradients (expected 2, got 1)",
  "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.",
])("is autograd's own: %s", (message) => expect(isAutogradError(message)).toBe(true));

test.each([
  "ValueError: shapes (3,) and (4,) not aligned",
  "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
  "NameError: name 'backward' is not defined",
  "OutOfMemoryError: CUDA out of memory.",
  "",
])("is none of autograd's: %s", (message) => expect(isAutogradError(message)).toBe(false));

test("a file is found below the server's root, also one written with a tilde, and never above it", () => {
  expect(belowRoot("/srv/nb/a/b.py", "/srv/nb")).toBe("a/b.py");
  expect(belowRoot("/srv/nb/a/b.py", "/srv/nb/")).toBe("a/b.py");
  expect(belowRoot("/home/ada/nb/b.py", "~/nb")).toBe("b.py");
  expect(belowRoot("/root/nb/b.py", "~/nb")).toBe("b.py");
  expect(belowRoot("C:\\nb\\b.py", "C:/nb")).toBe("b.py");
  expect(belowRoot("/srv/nbx/b.py", "/srv/nb")).toBeNull();
  expect(belowRoot("/srv/nb/../b.py", "/srv/nb")).toBeNull();
  expect(belowRoot("/opt/b.py", "~/nb")).toBeNull();
  expect(isLibrary("/opt/lib/python3.12/json/decoder.py")).toBe(true);
  expect(isLibrary("/home/ada/nb/train.py")).toBe(false);
});

test("a cell is found by its id, else by its number, and among equals by its line", () => {
  const target = { cell: "In [3]", cellId: "", filename: "", line: 2, source: "b = 2" };
  const cells = [
    { id: "x", count: 3, source: "a\nc" },
    { id: "y", count: 3, source: "a\n  b = 2" },
    { id: "z", count: 4, source: "" },
  ];
  expect(cellFor({ ...target, cellId: "z" }, cells)).toBe(2);
  expect(cellFor(target, cells)).toBe(1);
  expect(cellFor({ ...target, source: "gone" }, cells)).toBe(0);
  expect(cellFor({ ...target, cell: "In [9]" }, cells)).toBe(-1);
  expect(cellFor({ ...target, cell: "" }, [{ id: "n", count: null, source: "" }])).toBe(-1);
});

test("findings follow each other round and round", () => {
  const places: [number, number][] = [
    [1, 2],
    [1, 5],
    [4, 1],
  ];
  expect(nextIndex(places, [0, 0], 1)).toBe(0);
  expect(nextIndex(places, [1, 2], 1)).toBe(1);
  expect(nextIndex(places, [4, 1], 1)).toBe(0);
  expect(nextIndex(places, [1, 2], -1)).toBe(2);
  expect(nextIndex(places, [2, 0], -1)).toBe(1);
});

test("settings become attributes and a request; what is no setting counts as the default", () => {
  const chosen = preferences({
    depth: 3,
    colours: "safe",
    keep: 7,
    values: true,
    openOnError: false,
  });
  expect(attributesOf(chosen)).toEqual({
    "data-autograd-inspector-depth": "3",
    "data-autograd-inspector-colours": "safe",
  });
  expect(configuring(chosen)).toEqual({ action: "configure", keep: 7, values: true });
  const wrong = {
    depth: -1,
    colours: "red;}",
    keep: 0,
    values: "yes",
    openOnError: 1,
    reasons: "",
  };
  expect(preferences(wrong)).toEqual(DEFAULTS);
  expect(Object.values(attributesOf(DEFAULTS))).toEqual([null, null]);
});

test("of a bundle only a plain widget id is taken", () => {
  const of = (view: unknown) =>
    modelIdOf({ data: { "application/vnd.jupyter.widget-view+json": view } });
  expect(of({ model_id: "0a1b2c" })).toBe("0a1b2c");
  for (const wrong of [
    null,
    "x",
    3,
    [],
    {},
    { model_id: 7 },
    { model_id: "" },
    { model_id: "<b>" },
  ]) {
    expect(of(wrong)).toBe("");
  }
});

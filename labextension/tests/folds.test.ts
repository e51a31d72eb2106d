import { expect, test } from "vitest";
import { folds } from "../src/model/mismatch";

test("layers without biases fold into the module around them", () => {
  const names = [
    "net.wte.weight",
    "net.h.0.attn.q.weight",
    "net.h.0.attn.k.weight",
    "net.h.0.norm.weight",
    "net.h.0.mlp.up.weight",
    "net.h.0.mlp.down.weight",
  ];
  expect(folds(names)).toEqual([
    "net.wte",
    "net.h.0.attn",
    "net.h.0.attn",
    "net.h.0",
    "net.h.0.mlp",
    "net.h.0.mlp",
  ]);
});

test("weight and bias fold into their own layer, and a bare parameter into none", () => {
  expect(folds(["net.0.weight", "net.0.bias", "w"])).toEqual(["net.0", "net.0", ""]);
});

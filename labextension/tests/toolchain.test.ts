import { expect, test } from "vitest";

test("the tests run in a document", () => {
  expect(document.createElement("div").tagName).toBe("DIV");
});

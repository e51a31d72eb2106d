import { expect, test, vi } from "vitest";
import { seen } from "../src/state/sight";
import type { Model } from "../src/state/widget_model";
import { show } from "./fake";

test("Python hears of the first view of a model and of the last, not of those between", () => {
  const send = vi.fn();
  const model = { send } as unknown as Model;
  const [output, panel] = [seen(model), seen(model)];
  output();
  expect(send.mock.calls).toEqual([[{ command: "shown", on: true }]]);
  panel();
  expect(send).toHaveBeenLastCalledWith({ command: "shown", on: false });
  seen(model);
  expect(send).toHaveBeenLastCalledWith({ command: "shown", on: true });
});

test("a kernel that is gone is no reason to fail", () => {
  const send = () => {
    throw new Error("Canceled");
  };
  expect(seen({ send } as unknown as Model)).not.toThrow();
});

test("the widget says so when its view is closed", () => {
  const fake = show("attached");
  expect(fake.model.sent).toEqual([{ command: "shown", on: true }]);
  fake.close();
  expect(fake.model.sent.at(-1)).toEqual({ command: "shown", on: false });
});

import axe from "axe-core";
import { expect, test } from "vitest";
import { show } from "./fake";
import { payload } from "./fixtures";

// jsdom has no layout: contrast and sizes are looked at in a real browser.
const rules = { "color-contrast": { enabled: false }, region: { enabled: false } };

test.each(["Graph", "Findings", "Timeline", "Optimizer", "Ranks", "Vitals", "Compare"])(
  "%s is accessible",
  async (name) => {
    const fake = show(name === "Vitals" ? "vitals" : name === "Ranks" ? "ranks" : "detached", {
      other_payload: payload("attached").text,
      other_name: "before",
    });
    fake.tab(name);
    fake.model.set("selected", [3]);
    const { violations } = await axe.run(fake.el, { rules });
    expect(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html)}`)).toEqual([]);
  },
);

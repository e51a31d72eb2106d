/** Settings -> what the page and the kernels are told. Whatever is no valid setting counts as the default. */

import { COLOURS, DEPTH } from "../../state/preferences";
import type { RequestBody } from "../api";

export const SCHEMES = ["default", "safe", "monochrome"] as const;

export interface Preferences {
  openOnError: boolean;
  depth: number;
  colours: (typeof SCHEMES)[number];
  reasons: boolean;
  keep: number;
  values: boolean;
}

export const DEFAULTS: Preferences = {
  openOnError: false,
  depth: 0,
  colours: "default",
  reasons: true,
  keep: 50,
  values: false,
};

export function preferences(settings: Readonly<Record<string, unknown>>): Preferences {
  const { openOnError, depth, colours, reasons, keep, values } = settings;
  return {
    openOnError: typeof openOnError === "boolean" ? openOnError : DEFAULTS.openOnError,
    depth: within(depth, 0, 20) ?? DEFAULTS.depth,
    colours: SCHEMES.find((scheme) => scheme === colours) ?? DEFAULTS.colours,
    reasons: typeof reasons === "boolean" ? reasons : DEFAULTS.reasons,
    keep: within(keep, 1, 1000) ?? DEFAULTS.keep,
    values: values === true,
  };
}

function within(value: unknown, low: number, high: number): number | null {
  return Number.isInteger(value) && Number(value) >= low && Number(value) <= high
    ? Number(value)
    : null;
}

/** On the document's root element, where widgets of any notebook see it; null: without it. */
export function attributesOf(chosen: Preferences): Record<string, string | null> {
  return {
    [DEPTH]: chosen.depth > 0 ? String(chosen.depth) : null,
    [COLOURS]: chosen.colours === "default" ? null : chosen.colours,
  };
}

export function configuring(chosen: Preferences): RequestBody {
  return { action: "configure", keep: chosen.keep, values: chosen.values };
}

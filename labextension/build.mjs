// Builds the widget: one ES module and one style sheet, which anywidget sends with every widget.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build, context } from "esbuild";

const BUDGET = 60_000;
const out = "../autograd_inspector/static";

const options = {
  entryPoints: { widget: "src/widget.ts", style: "src/style.css" },
  outdir: out,
  entryNames: "[name]",
  bundle: true,
  format: "esm",
  target: "es2020",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  await build(options);
  const size = gzipSync(readFileSync(`${out}/widget.js`), { level: 9 }).length;
  console.log(`widget.js: ${size} bytes gzipped (budget ${BUDGET})`);
  if (size > BUDGET) process.exit(1);
}

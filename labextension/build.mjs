// Builds the widget's ES module and style sheet, which anywidget sends with every widget, and the
// same as a script for self-contained pages.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build, context } from "esbuild";

// 60,000, and 1,500 for texts that can be translated: calls around them, and both forms of every count.
const BUDGET = 61_500;
const out = "../autograd_inspector/static";

const shared = {
  outdir: out,
  bundle: true,
  target: "es2022",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
};
const widget = { ...shared, entryPoints: ["src/widget.ts", "src/style.css"], format: "esm" };
const loader = { ...shared, entryPoints: ["src/loader.ts"], format: "esm" };
const page = { ...shared, entryPoints: ["src/page.ts"], format: "iife" };

if (process.argv.includes("--watch")) {
  await (await context(widget)).watch();
} else {
  await Promise.all([build(widget), build(loader), build(page)]);
  const size = gzipSync(readFileSync(`${out}/widget.js`), { level: 9 }).length;
  console.log(`widget.js: ${size} bytes gzipped (budget ${BUDGET})`);
  if (size > BUDGET) process.exit(1);
}

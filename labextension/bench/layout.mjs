// Measures the graph in headless Chromium: `node bench/layout.mjs`. Fails where a budget is exceeded.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
].concat(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
const BUDGETS = {
  "first paint": { 850: 150, 3000: 200, 50000: 1000 },
  expand: 50,
  frame: 20,
  bundle: 25_000,
};

const bundled = async (entry) =>
  (
    await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      minify: true,
      format: "esm",
      target: "es2020",
    })
  ).outputFiles[0].text;

const page = await bundled("bench/page.ts");
const css = readFileSync("src/view/graph/graph.css", "utf8");
const html = `<!doctype html><meta charset="utf-8"><style>${css}#host{width:1000px;height:620px}</style>
<div id="host"></div><script type="module">${page.replaceAll("</script", "<\\/script")}</script>`;
const profile = mkdtempSync(join(tmpdir(), "layout-bench-"));
const results = await new Promise((resolve, reject) => {
  let browser;
  const server = createServer((request, response) => {
    if (request.method !== "POST")
      return void response.setHeader("content-type", "text/html").end(html);
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      response.end();
      server.close();
      // Its profile can be deleted only once it is gone.
      browser.once("exit", () => resolve(JSON.parse(body)));
      browser.kill();
    });
  });
  server.listen(0, () => {
    const url = `http://127.0.0.1:${server.address().port}/`;
    const args = [
      ...FLAGS,
      `--user-data-dir=${profile}`,
      "--remote-debugging-port=0",
      "--window-size=1000,700",
      url,
    ];
    browser = spawn(CHROMIUM, args, { stdio: "ignore" });
    setTimeout(() => {
      browser.kill();
      reject(new Error("no answer from the browser"));
    }, 90_000).unref();
  });
});
try {
  rmSync(profile, { recursive: true, force: true });
} catch {
  // A child of the browser still writes there; the system clears its temporary folder.
}

let failed = false;
const check = (what, value, budget, unit = "ms") => {
  const good = value <= budget;
  failed ||= !good;
  console.log(
    `${good ? "ok  " : "FAIL"} ${what}: ${value.toFixed(unit === "ms" ? 1 : 0)} ${unit} (budget ${budget})`,
  );
};
for (const { size, nodes, paint, expand, frame, worst } of results) {
  check(`${nodes} nodes, layout and first paint`, paint, BUDGETS["first paint"][size]);
  check(`${nodes} nodes, expand one block`, expand, BUDGETS.expand);
  check(
    `${nodes} nodes, pan and zoom, from frame to frame (worst ${worst.toFixed(1)})`,
    frame,
    BUDGETS.frame,
  );
}
const own = gzipSync(await bundled("src/view/graph/index.ts"), { level: 9 }).length;
check("layout and graph view, gzipped", own, BUDGETS.bundle, "bytes");
process.exit(failed ? 1 : 0);

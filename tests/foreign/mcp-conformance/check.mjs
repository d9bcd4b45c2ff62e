// The official MCP conformance suite against /mcp of a running service, for two revisions of the
// protocol. The suite shows no key: a proxy on the loopback adds it, and the user.
//
// HOLDFAST_URL and HOLDFAST_KEY say where. One line is printed for each scenario that is scored.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const CLIENT = "mcp-conformance";
const REVISIONS = ["2025-11-25", "2026-07-28"];
const SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

const here = dirname(fileURLToPath(import.meta.url));
const places = [process.cwd(), here, join(process.env.NODE_PATH ?? "", "..")];
const home = places.find((each) => existsSync(join(each, SUITE)));
if (!home) throw new Error(`the suite is not installed: npm install in ${here}`);
const pinned = join(home, "node_modules/.bin/node");
const node = existsSync(pinned) ? pinned : process.execPath;

if (process.argv[2] === "proxy") proxy();
else await main();

function proxy() {
  const target = new URL(process.env.HOLDFAST_URL);
  const server = http.createServer((asked, answer) => {
    const headers = { ...asked.headers };
    headers.authorization = `Bearer ${process.env.HOLDFAST_KEY}`;
    headers["x-holdfast-user"] = "conformance";
    const options = { method: asked.method, path: asked.url, headers, host: target.hostname };
    const passed = http.request({ ...options, port: target.port, setHost: false }, (got) => {
      answer.writeHead(got.statusCode, got.rawHeaders);
      got.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

async function main() {
  const { spawn } = await import("node:child_process");
  const child = spawn(node, [fileURLToPath(import.meta.url), "proxy"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise((done) => child.stdout.once("data", (data) => done(`${data}`.trim())));
  try {
    for (const revision of REVISIONS) report(revision, `http://127.0.0.1:${port}/mcp`);
  } finally {
    child.kill();
  }
}

function report(revision, url) {
  const results = mkdtempSync(join(tmpdir(), "mcp-conformance-"));
  const options = ["server", "--url", url, "--requirements", revision, "-o", results];
  const done = spawnSync(node, [join(home, SUITE), ...options], { encoding: "utf8" });
  const unscored = new Set(
    [...done.stdout.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map((found) => found[1]),
  );
  const names = [...done.stdout.matchAll(/^[✓✗] (\S+):/gm)].map((found) => found[1]);
  if (!names.length) {
    console.log(`FAIL ${CLIENT}/${revision}: the suite did not run: ${done.stderr.slice(-300)}`);
    return;
  }
  const folders = readdirSync(results);
  for (const name of names.filter((each) => !unscored.has(each))) {
    const folder = folders.find((each) => each.startsWith(`server-${name}-20`));
    const checks = JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8"));
    const failed = checks.filter((each) => each.status === "FAILURE");
    const why = failed.map((each) => `${each.id}: ${each.errorMessage ?? "failed"}`).join("; ");
    const line = `${CLIENT}/${revision}/${name}`;
    console.log(failed.length ? `FAIL ${line}: ${why.replace(/\s+/g, " ")}` : `PASS ${line}`);
  }
}

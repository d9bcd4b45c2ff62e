// The MCP Inspector's command line against Holdfast: over HTTP (HOLDFAST_URL, HOLDFAST_KEY) and
// over stdio (HOLDFAST_BIN), in both eras of the protocol. One line is printed for each scenario.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const CLIENT = "mcp-inspector";
const LAUNCHER = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const SECONDS = 180;

const here = dirname(fileURLToPath(import.meta.url));
const places = [process.cwd(), here, join(process.env.NODE_PATH ?? "", "..")];
const home = places.find((each) => existsSync(join(each, LAUNCHER)));
if (!home) throw new Error(`the inspector is not installed: npm install in ${here}`);
const pinned = join(home, "node_modules/.bin/node");
const node = existsSync(pinned) ? pinned : process.execPath;

const db = join(mkdtempSync(join(tmpdir(), "mcp-inspector-")), "memory.db");
const over = {
  http: [
    `${process.env.HOLDFAST_URL}/mcp`, "--transport", "http",
    "--header", `Authorization: Bearer ${process.env.HOLDFAST_KEY}`,
    "--header", "X-Holdfast-User: inspector",
  ],
  stdio: [process.env.HOLDFAST_BIN ?? "holdfast", "mcp", "--db", db, "--user", "inspector"],
};

// How a call is written, and what is wrong with its answer ("": nothing).
const scenarios = {
  "tools-list": [
    ["tools/list", "--strict"],
    ({ tools }) => wrong(tools.length === 24, `${tools.length} tools`)
      || wrong(tools.every((each) => each.outputSchema), "a tool without an outputSchema"),
  ],
  "tools-call-remember": [
    ["tools/call", "--tool-name", "remember", "--tool-arg", "text=I moved to Lisbon."],
    ({ structuredContent }) => wrong(structuredContent?.events?.length === 1, "nothing stored"),
  ],
  "tools-call-recall": [
    ["tools/call", "--tool-name", "recall", "--tool-arg", "query=Lisbon"],
    ({ structuredContent }) => wrong(structuredContent?.hits?.length, "nothing found"),
  ],
  "tools-call-graph": [
    ["tools/call", "--tool-name", "create_entities", "--tool-args-json",
      JSON.stringify({ entities: [{ name: "Bob", entityType: "person", observations: ["tea"] }] })],
    ({ content, isError }) => wrong(content?.length && !isError, "no entities"),
  ],
  "tools-call-refused": [
    ["tools/call", "--tool-name", "recall", "--tool-arg", "limit=10"],
    ({ isError, content }) => wrong(isError && /query is required/.test(content[0].text), "no refusal"),
    "it refuses",
  ],
  "resources-list": [
    ["resources/list"],
    ({ resources }) => wrong(resources.length === 4, `${resources.length} resources`),
  ],
  "resources-templates-list": [
    ["resources/templates/list"],
    ({ resourceTemplates }) => wrong(resourceTemplates.length === 3, `${resourceTemplates.length}`),
  ],
  "resources-read": [
    ["resources/read", "--uri", "memory://knowledge-graph"],
    ({ contents }) => wrong("entities" in JSON.parse(contents[0].text), "no graph"),
  ],
  "resources-read-unknown": [
    ["resources/read", "--uri", "holdfast://nothing"],
    null,
    /there is no resource holdfast:\/\/nothing/,
  ],
  "prompts-list": [
    ["prompts/list"],
    ({ prompts }) => wrong(prompts.length === 3, `${prompts.length} prompts`),
  ],
  "prompts-get": [
    ["prompts/get", "--prompt-name", "with_memory", "--prompt-args", "question=Where do I live?"],
    ({ messages }) => wrong(/Where do I live\?$/.test(messages[0].content.text), "no question"),
  ],
  "prompts-get-unknown": [
    ["prompts/get", "--prompt-name", "nonsense"],
    null,
    /there is no prompt nonsense/,
  ],
};
const legacyOnly = {
  "logging-set-level": [["logging/setLevel", "--log-level", "debug"], () => ""],
};
// A process for each call takes its time: over stdio what a process has to do with is enough.
const onStdio = [
  "tools-list", "tools-call-remember", "tools-call-recall", "resources-read", "prompts-get",
  "logging-set-level",
];

for (const transport of ["http", "stdio"]) {
  for (const era of ["legacy", "modern"]) {
    const all = { ...scenarios, ...(era === "legacy" ? legacyOnly : {}) };
    for (const [name, [call, check, refusal]] of Object.entries(all)) {
      if (transport === "stdio" && !onStdio.includes(name)) continue;
      const reason = asked(transport, era, call, check, refusal);
      const line = `${CLIENT}/${transport}-${era}/${name}`;
      console.log(reason ? `FAIL ${line}: ${reason.replace(/\s+/g, " ").slice(0, 300)}` : `PASS ${line}`);
    }
  }
}

function wrong(isRight, words) {
  return isRight ? "" : words;
}

function asked(transport, era, call, check, refusal) {
  const how = ["--protocol-era", era, "--connect-timeout", `${1000 * SECONDS}`];
  // What goes to the server itself stands after --.
  const target = transport === "http" ? [...over.http] : [];
  const server = transport === "http" ? [] : ["--", ...over.stdio];
  const words = [...target, "--method", ...call, ...how, "--format", "json", "-q", ...server];
  const done = spawnSync(node, [join(home, LAUNCHER), "--cli", ...words], {
    encoding: "utf8",
    timeout: 1000 * SECONDS,
  });
  if (refusal instanceof RegExp) {
    return done.status !== 0 && refusal.test(done.stderr) ? "" : `not refused: ${done.stdout}${done.stderr}`;
  }
  if (done.status !== 0 && !refusal) return `exit ${done.status}: ${done.stderr || done.stdout}`;
  try {
    return check(JSON.parse(done.stdout).result);
  } catch (error) {
    return `${error.message}: ${done.stdout.slice(0, 200)} ${done.stderr.slice(0, 200)}`;
  }
}

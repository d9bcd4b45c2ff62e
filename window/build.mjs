// Bundles the window into src/holdfast/service/window: `node build.mjs`, or with `--watch` at every
// change. Names carry the digest of their content, so that a browser keeps them for good; the old
// ones are removed. `sources.sha256` says of which sources it was built (tests/window/test_bundle.py).
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(here, "../src/holdfast/service/window");
const watching = process.argv.includes("--watch");
const sourceRoots = [".npmrc", "build.mjs", "index.html", "package-lock.json", "package.json", "src", "tsconfig.json"];

function files(relative) {
  const full = path.join(here, relative);
  if (!existsSync(full)) return [];
  const entries = readdirSync(full, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const inside = `${relative}/${entry.name}`;
    return entry.isDirectory() ? files(inside) : [inside];
  });
}

/** One digest over every source: for each, in order of their names, the name, its length, its bytes. */
function sourcesDigest() {
  const names = sourceRoots.flatMap((name) => (name === "src" ? files(name) : [name])).sort();
  const digest = createHash("sha256");
  for (const name of names) {
    const content = readFileSync(path.join(here, name));
    digest.update(`${name}\0${content.length}\0`).update(content);
  }
  return digest.digest("hex");
}

/** The licences of the packages of which something is in the bundle. */
function licences(inputs) {
  const packages = new Set();
  for (const input of inputs) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  return [...packages].sort().map((name) => {
    const folder = path.join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file ? readFileSync(path.join(folder, file), "utf8").trim() : license;
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
}

const write = {
  name: "write",
  setup(build) {
    build.onEnd((result) => {
      if (result.errors.length) return;
      const outputs = result.metafile.outputs;
      const named = (end) => {
        const found = Object.entries(outputs).find(([, each]) => each.entryPoint?.endsWith(end));
        return [`/assets/${path.basename(found[0])}`, found[1]];
      };
      const [app, about] = named("src/app.tsx");
      const ahead = about.imports
        .filter((each) => each.kind === "import-statement")
        .map((each) => `<link rel="modulepreload" href="/assets/${path.basename(each.path)}">`);
      const page = readFileSync(path.join(here, "index.html"), "utf8")
        .replace("%app.js%", app)
        .replace("%app.css%", named("src/app.css")[0])
        .replace("%theme.js%", named("src/theme.ts")[0])
        .replace("%icon.svg%", named("src/icon.svg")[0])
        .replace("%ahead%", ahead.join("\n    "));
      rmSync(out, { recursive: true, force: true });
      mkdirSync(path.join(out, "assets"), { recursive: true });
      let packed = gzipSync(page).length;
      for (const file of result.outputFiles) {
        packed += gzipSync(file.contents).length;
        writeFileSync(path.join(out, "assets", path.basename(file.path)), file.contents);
      }
      writeFileSync(path.join(out, "index.html"), page);
      writeFileSync(path.join(out, "LICENSES.txt"), licences(Object.keys(result.metafile.inputs)).join(`\n${"-".repeat(79)}\n\n`));
      writeFileSync(path.join(out, "sources.sha256"), `${sourcesDigest()}\n`);
      const size = Object.values(outputs).reduce((sum, each) => sum + each.bytes, 0);
      console.log(`window: ${(size / 1024).toFixed(0)} KB, compressed ${(packed / 1024).toFixed(0)} KB`);
    });
  },
};

const options = {
  absWorkingDir: here,
  entryPoints: ["src/app.tsx", "src/app.css", "src/theme.ts", "src/icon.svg"],
  outdir: path.join(out, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".svg": "copy" },
  minify: !watching,
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "info",
  plugins: [write],
};

if (watching) {
  const context = await esbuild.context(options);
  await context.watch();
} else {
  await esbuild.build(options);
}

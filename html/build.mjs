// SPDX-License-Identifier: BSD-2-Clause
// Makes one file of the page: its script with all imports, its style, and the licences of
// foreign code. Run in a directory with the node_modules of package-lock.json:
//
//   node build.mjs OUTPUT
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve("node_modules");
const esbuild = createRequire(path.join(modules, "x"))("esbuild");

async function bundle(file) {
  const result = await esbuild.build({
    entryPoints: [path.join(here, "src", file)],
    nodePaths: [modules],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    charset: "utf8",
    target: ["es2022", "chrome110", "firefox115", "safari16"],
    legalComments: "none", // the licences are in the page as a whole
    logLevel: "warning",
  });
  return result.outputFiles[0].text.trim();
}

// The licences of the packages whose code is in the bundle.
const kLicences = [
  ["Apache ECharts", "echarts/LICENSE"],
  ["Apache ECharts, notice", "echarts/NOTICE"],
  ["Parts of D3 in Apache ECharts", "echarts/licenses/LICENSE-d3"],
  ["ZRender", "zrender/LICENSE"],
  ["tslib", "tslib/LICENSE.txt"],
];

const escapeHtml = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

async function licences() {
  const texts = kLicences.map(async ([name, file]) => {
    const text = await readFile(path.join(modules, file), "utf8");
    return `<h3>${escapeHtml(name)}</h3>\n<pre>${escapeHtml(text.trim())}</pre>`;
  });
  return (await Promise.all(texts)).join("\n");
}

const [output] = process.argv.slice(2);
const script = await bundle("main.js");
if (/<\/script|<!--/i.test(script)) throw new Error("the script would end its own element");
const parts = {
  SCRIPT: script,
  // The page runs only this script, whatever its data contains.
  SCRIPT_HASH: createHash("sha256").update(script).digest("base64"),
  STYLE: await bundle("style.css"),
  LICENCES: await licences(),
};
const page = await readFile(path.join(here, "src", "page.html"), "utf8");
await writeFile(output, page.replace(/@([A-Z_]+)@/g, (all, name) => parts[name] ?? all));

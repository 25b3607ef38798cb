// Bundles the page into one HTML text and writes it as a C++ source: node bundle.mjs SOURCE WORK OUT.cpp.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [source, work, out] = process.argv.slice(2);

async function bundled(file) {
  const result = await build({
    entryPoints: [join(source, file)],
    nodePaths: [join(work, "node_modules")],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    legalComments: "none", // the licences are listed in full below
    format: "iife",
    target: "es2020",
  });
  return { text: result.outputFiles[0].text, inputs: Object.keys(result.metafile.inputs) };
}

// Name, version and licence text of every package that a bundle took something from.
function licences(inputs) {
  const names = inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean);
  return [...new Set(names)].sort().map((name) => {
    const folder = join(work, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}`;
  });
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

const script = await bundled("main.js");
const style = await bundled("style.css");
const page = readFileSync(join(source, "page.html"), "utf8")
  .replace("/*style*/", () => style.text.trim())
  .replace("/*script*/", () => script.text.trim())
  .replace("<!--licences-->", () => escaped(licences(script.inputs).join("\n\n\n")));

const bytes = Buffer.from(page, "utf8");
const rows = [];
for (let i = 0; i < bytes.length; i += 32) rows.push([...bytes.subarray(i, i + 32)].join(","));
writeFileSync(
  out,
  `#include "sim/report/html_page.h"
namespace tessella {
namespace {
constexpr unsigned char kPage[] = {
${rows.join(",\n")}};
} // namespace
std::string_view html_page() { return {reinterpret_cast<const char*>(kPage), sizeof(kPage)}; }
std::string_view html_page_missing() { return {}; }
} // namespace tessella
`,
);

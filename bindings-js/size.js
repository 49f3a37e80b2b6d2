/**
 * Prints what a page has to load, in bytes: the module, and worker and client as a bundler makes them
 * small; each as it is, and with gzip -9. Fails if that is more than the bound given.
 */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const minify = (file) => {
  const options = { bundle: true, minify: true, format: "esm", write: false };
  return buildSync({ entryPoints: [file], ...options }).outputFiles[0].contents;
};

const parts = {
  module: readFileSync("dist/terrane_bg.wasm"),
  worker: minify("dist/worker.js"),
  client: minify("dist/index.js"),
};

let all = 0;
for (const [name, bytes] of Object.entries(parts)) {
  const { length } = gzipSync(bytes, { level: 9 });
  console.log(`  ${name}: ${bytes.length} bytes, ${length} with gzip -9`);
  all += length;
}
console.log(`  together: ${all} with gzip -9`);
const bound = Number(process.argv[2] ?? Infinity);
if (all > bound) {
  console.error(`  expected at most ${bound}`);
  process.exitCode = 1;
}

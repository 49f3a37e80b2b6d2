/**
 * Prints what a page has to load, in bytes: a build of the module, and worker and client as a bundler
 * makes them small; each as it is, and with gzip -9. Fails if that is more than the bounds given, of the
 * lean build, of the one with all policies, and of the one with threads.
 */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const minify = (file) => {
  const options = { bundle: true, minify: true, format: "esm", write: false };
  return buildSync({ entryPoints: [file], ...options }).outputFiles[0].contents;
};

const weigh = (name, bytes) => {
  const { length } = gzipSync(bytes, { level: 9 });
  console.log(`  ${name}: ${bytes.length} bytes, ${length} with gzip -9`);
  return length;
};

weigh("tuples", minify("dist/tuple.js"));
const client = weigh("client", minify("dist/index.js"));
const worker = weigh("worker", minify("dist/worker.js"));
const builds = [
  ["lean", "dist/terrane_bg.wasm", worker],
  ["all policies", "dist/terrane_all_bg.wasm", worker],
  [
    "threads",
    "dist/terrane_threads_bg.wasm",
    weigh("worker with threads", minify("dist/threads.js")),
  ],
];
const bounds = process.argv.slice(2).map(Number);
for (const [build, file, worker] of builds) {
  const sum = client + worker + weigh(`module, ${build}`, readFileSync(file));
  const bound = bounds.shift() ?? Infinity;
  console.log(`  together: ${sum} with gzip -9`);
  if (sum > bound) {
    console.error(`  expected at most ${bound}`);
    process.exitCode = 1;
  }
}

/**
 * Prints what a page has to load, in bytes: a build of the module, and worker and client as a bundler
 * makes them small; each as it is, and with gzip -9. Fails if that is more than the bounds given, of the
 * lean build, of the one with all policies, and of the one with threads.
 */

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

/** Returns the files that a bundler makes of others, by their names. */
const minify = (...files) => {
  const options = { bundle: true, minify: true, splitting: true, format: "esm", write: false };
  const built = buildSync({
    entryPoints: files.map((file) => `dist/${file}`),
    outdir: "dist",
    chunkNames: "client",
    ...options,
  });
  return Object.fromEntries(built.outputFiles.map((file) => [basename(file.path), file.contents]));
};

const weigh = (name, ...parts) => {
  const bytes = Buffer.concat(parts);
  const { length } = gzipSync(bytes, { level: 9 });
  console.log(`  ${name}: ${bytes.length} bytes, ${length} with gzip -9`);
  return length;
};

const { "tuple.js": tuple } = minify("tuple.js");
weigh("tuples", tuple);
const page = minify("index.js", "whole.js");
weigh("parts of the client that load later", page["whole.js"]);
const client = weigh("client", page["client.js"], page["index.js"]);
const { "worker.js": alone } = minify("worker.js");
const worker = weigh("worker", alone);
const { "threads.js": threads } = minify("threads.js");
const builds = [
  ["lean", "dist/terrane_bg.wasm", worker],
  ["all policies", "dist/terrane_all_bg.wasm", worker],
  ["threads", "dist/terrane_threads_bg.wasm", weigh("worker with threads", threads)],
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

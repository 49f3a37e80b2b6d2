/** Imports allowed between folders: a folder is what lands in a bundle together. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { test } from "node:test";

/** The folders that the files of a folder may import, besides their own. */
const LAYERS = {
  api: [],
  codec: ["api"],
  shared: ["api", "codec"],
  tuple: ["api"],
  store: ["api", "codec", "shared"],
  client: ["api", "codec", "shared", "store"],
  engine: ["api", "codec", "shared", "../wasm"],
  worker: ["api", "codec", "engine", "shared", "../wasm"],
  threads: ["api", "codec", "engine", "worker", "../wasm"],
  sync: ["api", "codec", "engine", "shared", "store", "../wasm"],
  // It takes the place of `engine/platform.ts`, and of what lies below that.
  node: ["api", "client", "codec", "engine", "shared", "store", "sync", "worker", "../wasm"],
};

const src = new URL("../src/", import.meta.url);

/** The files that a file imports or exports from, relative to `src`. */
function importsOf(file) {
  const source = readFileSync(new URL(file, src), "utf8");
  const specifiers = source.matchAll(/^(?:import|export|\})[^;"]*"(\.[^"]+)";$/gm);
  return Array.from(specifiers, ([, to]) => normalize(join(dirname(file), to)));
}

const folderOf = (file) => dirname(file);
const files = Object.keys(LAYERS).flatMap((folder) =>
  readdirSync(new URL(folder, src)).map((name) => `${folder}/${name}`),
);

test("every source file is in a folder with a rule", () => {
  const all = readdirSync(src, { recursive: true }).filter((name) => name.endsWith(".ts"));
  assert.deepEqual(all.toSorted(), files.toSorted());
});

test("files import only from the folders below theirs", () => {
  const wrong = files.flatMap((file) => {
    const folder = folderOf(file);
    return importsOf(file)
      .filter((to) => folderOf(to) !== folder && !LAYERS[folder].includes(folderOf(to)))
      .map((to) => `${file} imports ${to}`);
  });
  assert.deepEqual(wrong, []);
});

test("no files import each other in a circle", () => {
  const done = new Set();
  const visit = (file, path) => {
    assert.ok(!path.includes(file), `${[...path, file].join(" -> ")}`);
    if (done.has(file) || file.startsWith("..")) return;
    for (const to of importsOf(file)) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
});

/** The examples of the READMEs and tests of types, compiled in a project that depends on the package. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const bindings = fileURLToPath(new URL("..", import.meta.url));
const project = mkdtempSync(join(tmpdir(), "terrane-readme-"));
after(() => rmSync(project, { recursive: true }));

const options = {
  target: "es2022",
  module: "nodenext",
  lib: ["es2024", "esnext.disposable", "dom", "dom.iterable", "dom.asynciterable"],
  types: [],
  strict: true,
  noEmit: true,
};

mkdirSync(join(project, "node_modules"));
symlinkSync(bindings, join(project, "node_modules/terrane"));
writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));

test("examples of the READMEs compile under strict options", () => {
  const files = [];
  for (const readme of ["README.md", "../README.md"]) {
    const text = readFileSync(join(bindings, readme), "utf8");
    for (const [, example] of text.matchAll(/^```ts\n(.*?)^```$/gms)) {
      files.push(`example-${files.length}.ts`);
      writeFileSync(join(project, files.at(-1)), example);
    }
  }
  assert.ok(files.length >= 4, "the READMEs have examples");
  compile(files);
});

test("the types refuse transactions that would end early", () => {
  copyFileSync(join(bindings, "test/types.ts"), join(project, "types.ts"));
  compile(["types.ts"]);
});

/** Compiles files of the project; fails with what the compiler reports. */
function compile(files) {
  const config = { compilerOptions: options, files };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(bindings, "node_modules/typescript/bin/tsc");
  try {
    execFileSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" });
  } catch (error) {
    assert.fail(error.stdout);
  }
}

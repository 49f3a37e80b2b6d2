/**
 * The module against the command: a MANIFEST gives the same lines in both, however they are divided. MODULE is the
 * folder of the module, TERRANE the command.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const { MODULE, TERRANE } = process.env;
const { default: createGlue } = await import(pathToFileURL(join(MODULE, "glue.js")).href);
const { initSync, ForeignHistory } = createGlue();
initSync({ module: readFileSync(join(MODULE, "terrane_foreign_bg.wasm")) });

const data = new URL("../../foreign/data/", import.meta.url);
const manifests = readdirSync(data).filter((name) => !name.includes("."));

for (const name of manifests) {
  test(`${name}: the module writes the history of each column family as the command does`, () => {
    const file = new URL(name, data);
    const read = (family) => new ForeignHistory(readFileSync(file), "", family);
    const { families } = JSON.parse(read(undefined).about());
    assert.ok(families.length > 0);
    for (const family of families) {
      const args = ["history", fileURLToPath(file), "--keyspace", family];
      const stdio = ["ignore", "pipe", "ignore"];
      const native = execFileSync(TERRANE, args, { encoding: "utf8", stdio });
      const history = read(family);
      const slices = [];
      for (let slice; (slice = history.next(7)) !== ""; ) slices.push(slice);
      assert.equal(slices.join(""), native);
      assert.equal(JSON.parse(history.about()).lines, native.trimEnd().split("\n").length);
    }
  });
}

test("what is no MANIFEST is an error that says what was found", () => {
  const noise = new TextEncoder().encode("key,value\nfern,1\n".repeat(10));
  assert.throws(() => new ForeignHistory(noise, ""), /expected a chunk of a type from 1 to 8/);
  const [name] = manifests;
  const bytes = readFileSync(new URL(name, data));
  assert.throws(() => new ForeignHistory(bytes, "", "none"), /no column family of this name/);
});

/** The packages in Node, Deno and Bun: each runs the same script. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The commands that run a script. */
const RUNTIMES = {
  node: [process.execPath],
  deno: [at("node_modules/.bin/deno"), "run", "--allow-all"],
  bun: [at("node_modules/.bin/bun"), "run"],
};

for (const [name, [program, ...flags]] of Object.entries(RUNTIMES)) {
  test(`each entry works in ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "terrane-runtimes-"));
    try {
      const args = [...flags, at("smoke.js"), folder];
      const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
      assert.equal(status, 0, `${stdout}${stderr}`);
      assert.equal(stdout.trim(), "all done");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/** The suite that abstract-level publishes, over `terrane-level`: nothing of it is changed or left out. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const SUITE = fileURLToPath(
  new URL("../../bindings-js/level/test/suite.js", import.meta.url),
);

/** The number of assertions of abstract-level 3.1.1, by what the database supports. */
const ASSERTIONS = { directory: 5168, file: 5168, memory: 5156 };

for (const [where, expected] of Object.entries(ASSERTIONS)) {
  // It opens hundreds of stores, which takes minutes on a busy disk.
  const skip = where === "file" && !process.env["TERRANE_FULL"];
  test(`the suite of abstract-level passes, ${where}`, { skip }, async () => {
    const child = spawn(process.execPath, [SUITE, where], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
    const [code] = await once(child, "close");
    const failed = printed.match(/^(#.*\n)?not ok .*$/gm) ?? [];
    assert.deepEqual([code, failed], [0, []]);
    const counts = /^# tests (\d+)\n# pass +(\d+)$/m
      .exec(printed)
      ?.slice(1)
      .map(Number);
    assert.deepEqual(counts, [expected, expected]);
  });
}

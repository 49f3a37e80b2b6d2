/** One store, by turns of Node and the command line. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundle, folder } from "./folder.js";

const { open } = await import(bundle("sync.js"));
const PROGRAM =
  process.env.TERRANE ?? fileURLToPath(new URL("../../target/debug/terrane", import.meta.url));

/** The file of a store has no place for the name of its holder; Linux knows its process. */
const HELD = {
  directory: /in use by process \d+ \(node\)/,
  file: process.platform === "linux" ? /in use by process \d+/ : /in use/,
};

const terrane = (...args) => execFileSync(PROGRAM, args, { encoding: "utf8" });

for (const layout of ["directory", "file"]) {
  test(`both read what the other wrote, ${layout}`, async () => {
    const path = `${folder()}/store`;
    const db = await open(path, { layout });
    for (let n = 0; n < 1000; n++) db.put(`by node ${n}`, "x".repeat(n));
    db.flush();
    db.put("last", "buffered");
    assert.throws(() => terrane("get", path, "last"), HELD[layout]);
    db.close();
    assert.equal(terrane("get", path, "last").trim(), "buffered");
    assert.equal(terrane("count", path).trim(), "1001");
    terrane("put", path, "by the program", "é");
    terrane("check", path);
    const again = await open(path, { layout, create: false });
    assert.equal(again.get("by the program"), "é");
    assert.equal(again.count(), 1002);
    again.close();
  });
}

/** A process that loads a store is killed, again and again: nothing that was acknowledged is lost. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundle, folder, start } from "./folder.js";

const { open } = await import(bundle("sync.js"));

/** The number of processes that are killed. */
const KILLS = 50;
/** The operations of a batch. */
const BATCH = 10;

/** Prints the number of each batch once it is acknowledged; every tenth is durable. */
const LOAD = `
import { open } from ${JSON.stringify(bundle("sync.js"))};
import { writeSync } from "node:fs";
const [path, first] = process.argv.slice(1);
const db = await open(path, { memtableBytes: 64 << 10 });
for (let n = Number(first); ; n++) {
  const rows = Array.from({ length: ${BATCH} }, (_, i) => (
    { type: "put", key: n + " " + i, value: String(n).padEnd(100, "-") }
  ));
  db.batch(rows, { durability: n % 10 === 0 ? "sync" : "buffered" });
  writeSync(1, n + "\\n");
}`;

test("what a killed process acknowledged is there, in whole batches", async (context) => {
  const path = `${folder()}/store`;
  let next = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const { child, ended } = start(LOAD, path, String(next));
    // At another place each time, once some batches of this process are acknowledged.
    const until = next + 1 + 37 * (kill % 9);
    let printed = "";
    child.stdout.on("data", (text) => {
      printed += text;
      if (Number(printed.trimEnd().split("\n").at(-1)) >= until) child.kill("SIGKILL");
    });
    const [, signal] = await ended;
    assert.equal(signal, "SIGKILL", printed);
    const acknowledged = Number(printed.slice(0, printed.lastIndexOf("\n")).split("\n").at(-1));

    // The next process opens it at once.
    const db = await open(path, { create: false, timeout: 0 });
    const batches = new Map();
    for (const [key, value] of db.entries()) {
      const [n] = key.split(" ");
      assert.equal(value, n.padEnd(100, "-"));
      batches.set(n, (batches.get(n) ?? 0) + 1);
    }
    for (let n = 0; n <= acknowledged; n++) assert.equal(batches.get(`${n}`), BATCH, `batch ${n}`);
    assert.ok([...batches.values()].every((rows) => rows === BATCH));
    // At most the batch that was being written is there besides.
    assert.ok(batches.size - 1 <= acknowledged + 1, `${batches.size} ${acknowledged}`);
    const report = db.check();
    assert.deepEqual(report.damage, []);
    next = batches.size;
    db.close();
  }
});

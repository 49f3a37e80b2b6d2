/** Uses each entry of the packages once, whatever runs it: the argument is a folder for the stores. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import * as terrane from "terrane";
import { TerraneLevel } from "terrane-level";
import * as asynchronous from "terrane-node";
import * as synchronous from "terrane-node/sync";
import * as inWorker from "terrane/worker";

const folder = process.argv[2];
const entries = { asynchronous, synchronous };

for (const [name, { destroy, importStore, open }] of Object.entries(entries)) {
  for (const layout of ["directory", "file"]) {
    const path = `${folder}/${name} ${layout}`;
    const db = await open(path, { layout });
    for (let n = 0; n < 100; n++) await db.put(`key ${n}`, "é".repeat(n));
    await db.batch([{ type: "delete", key: "key 0" }], { durability: "sync" });
    const snapshot = db.snapshot();
    await db.put("key 0", "later");
    assert.equal(await db.get("key 7"), "é".repeat(7));
    assert.equal(await snapshot.get("key 0"), undefined);
    const rows = [];
    for await (const row of db.entries({ prefix: "key 9" })) rows.push(row);
    assert.equal(rows.length, 11);
    snapshot.release();
    const watch = db.watch();
    const changed = watch.next();
    await db.put("watched", "yes");
    assert.deepEqual((await changed).value.keys, ["watched"]);
    await watch.return();
    await db.flush();
    const chunks = [];
    for await (const chunk of await db.export()) chunks.push(chunk);
    const copy = new Blob(chunks);
    await db.close();
    await importStore(`${path} copy`, copy, { layout });
    const opened = await open(`${path} copy`, { create: false, layout });
    assert.equal(await opened.count(), 101);
    assert.deepEqual((await opened.check()).damage, []);
    await opened.close();
    await destroy(`${path} copy`);
    await assert.rejects(open(`${path} copy`, { create: false }), { code: "not-found" });
    await assert.rejects(async () => db.get("key 7"), { code: "closed" });
    await destroy(path);
  }
}

for (const { open } of [terrane, inWorker]) {
  const db = await open("a", { storage: "memory" });
  await db.put("key", "value");
  assert.equal(await db.get("key"), "value");
  await db.close();
  await assert.rejects(open("a"), { code: "unavailable", message: /terrane-node/ });
}

const level = new TerraneLevel(`${folder}/level`, { valueEncoding: "json" });
await level.batch([
  { type: "put", key: "a", value: { n: 1 } },
  { type: "put", key: "b", value: { n: 2 } },
]);
assert.deepEqual(level.getSync("a"), { n: 1 });
assert.deepEqual(await level.iterator().all(), [
  ["a", { n: 1 }],
  ["b", { n: 2 }],
]);
await level.close();
await TerraneLevel.destroy(`${folder}/level`);

assert.deepEqual(readdirSync(folder), []);
console.log("all done");

/** The options of the synchronous store's calls. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { destroy, importStore, open } from "../dist/sync.js";

const file = new URL("../dist/terrane_bg.wasm", import.meta.url);
const wasm = new WebAssembly.Module(readFileSync(file));

test("an unknown option fails its call with the nearest one first", async (context) => {
  const db = await open("test", { storage: "memory", wasm });
  context.after(() => db.close());
  const refused = (call, options, message) =>
    assert.rejects(async () => call(options), { name: "InvalidArgumentError", message });
  for (const call of [
    (options) => db.traceScan(options),
    (options) => db.count(options),
    (options) => db.entries(options),
    (options) => db.keys(options),
    (options) => db.values(options),
    (options) => db.approximateSize(options),
    (options) => db.compactRange(options),
  ]) {
    await refused(
      call,
      { gte: "a", ltt: "b" },
      /^options: expected lte, lt, prefix, gte, gt\b.*, found "ltt"$/,
    );
  }
  for (const [call, options, message] of [
    [
      (options) => db.get("k", options),
      { encoding: "binary" },
      /expected keyEncoding, valueEncoding, found/,
    ],
    [
      (options) => db.getMany([], options),
      { signal: undefined },
      /expected keyEncoding, valueEncoding, found/,
    ],
    [
      (options) => db.put("k", "v", options),
      { durabilty: "sync" },
      /expected durability, ttl, expiresAt, keyEncoding, valueEncoding, found/,
    ],
    [
      (options) => db.delete("k", options),
      { sync: true },
      /expected durability, keyEncoding, found "sync"$/,
    ],
    [(options) => db.batch([], options), { sync: true }, /expected durability, found "sync"$/],
    [(options) => db.keyspace("k", options), { polcy: "tiered" }, /expected policy, create, /],
    [(options) => db.events(options), { signl: undefined }, /expected signal, found/],
    [(options) => db.checkpoint("copy", options), { timout: 1 }, /expected timeout, found/],
    [(options) => open("other", options), { cacheBtyes: 1 }, /expected cacheBytes, .*, found/],
    [
      (options) => open("other", options),
      { worker: undefined },
      /expected storage, .*, found "worker"/,
    ],
    [(options) => importStore("other", new Blob([]), options), { timout: 1 }, /expected timeout, /],
    [(options) => destroy("other", options), { timout: 1 }, /expected timeout, found/],
    [(options) => db.count(options), null, /^options: expected an object, found null$/],
  ]) {
    await refused(call, options, message);
  }
  assert.deepEqual([db.keyspaces(), db.get("k")], [["default"], undefined]);
});

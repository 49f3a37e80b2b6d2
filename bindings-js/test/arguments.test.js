/** Arguments that are refused because they would be mistaken for others. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { open } from "../dist/sync.js";
import * as client from "../dist/index.js";

const file = new URL("../dist/terrane_bg.wasm", import.meta.url);
const wasm = new WebAssembly.Module(readFileSync(file));

/** Opens a store that is closed at the test's end. */
async function store(context, options) {
  const db = await open("test", { storage: "memory", wasm, ...options });
  context.after(() => db.close());
  return db;
}

/** Bytes whose buffer has gone to another thread. */
function transferred(...bytes) {
  const view = Uint8Array.from(bytes);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
}

/** Bytes beyond what is left of their buffer. */
function shrunk() {
  const buffer = new ArrayBuffer(8, { maxByteLength: 8 });
  const view = new Uint8Array(buffer, 4, 2);
  buffer.resize(2);
  return view;
}

const refused = (call, message) =>
  assert.throws(call, { name: "InvalidArgumentError", code: "invalid-argument", message });

test("bytes whose buffer is gone are refused everywhere", async (context) => {
  const db = await store(context);
  const gone = /expected bytes, found a Uint8Array whose buffer was transferred or shrunk$/;
  for (const bytes of [transferred(1, 2, 3), shrunk()]) {
    for (const call of [
      () => db.put("photo", bytes),
      () => db.put(bytes, "v"),
      () => db.delete(bytes),
      () => db.batch([{ type: "put", key: "photo", value: bytes }]),
      () => db.get(bytes),
      () => db.getMany(["a", bytes]),
      () => db.count({ gte: bytes }),
      () => db.entries({ lt: bytes }).next(),
    ]) {
      refused(call, gone);
    }
  }
  assert.equal(db.count(), 0);
  db.put("empty", new Uint8Array());
  db.put(new Uint8Array(new ArrayBuffer(4), 4), "key");
  assert.deepEqual(db.getMany(["empty", ""]), ["", "key"]);
});

test("what only looks like a Uint8Array is refused", async (context) => {
  const db = await store(context);
  const expected =
    /^value: expected a string, a view or an ArrayBuffer, found a Proxy of Uint8Array$/;
  for (const odd of [new Proxy(new Uint8Array(2), {}), Object.create(Uint8Array.prototype)]) {
    refused(() => db.put("k", odd), expected);
    refused(() => db.get(odd), /^key: expected/);
  }
  assert.equal(db.get("k"), undefined);
});

test("names with lone surrogates are refused everywhere", async (context) => {
  const db = await store(context);
  const message = /lone surrogates, found "(a\\ud800|\\udc00\\ud800)"$/;
  for (const name of ["a\ud800", "\udc00\ud800"]) {
    refused(() => db.keyspace(name), message);
    refused(() => db.keyspace(name, { create: false }), message);
    refused(() => db.dropKeyspace(name), message);
    for (const call of [
      () => open(name, { storage: "memory", wasm }),
      () => db.checkpoint(name),
      () => client.open(name),
      () => client.destroy(name),
      () => client.importStore(name, new Blob([])),
    ]) {
      await assert.rejects(call, { code: "invalid-argument", message });
    }
  }
  db.keyspace("\u{1f642}\n").put("k", "v");
  assert.deepEqual(db.keyspaces().toSorted(), ["default", "\u{1f642}\n"]);
});

test("a bound that is null is refused by its name", async (context) => {
  const db = await store(context);
  db.put("a", "1");
  for (const name of ["gte", "gt", "lte", "lt"]) {
    const range = { [name]: null };
    for (const call of [
      () => db.count(range),
      () => db.keys(range).next(),
      () => db.approximateSize(range),
      () => db.compactRange(range),
    ]) {
      refused(
        call,
        new RegExp(`^${name}: expected a string, a view or an ArrayBuffer, found null$`),
      );
    }
    assert.equal(db.count({ [name]: undefined }), 1);
  }
  refused(() => db.count({ gte: null, gt: null }), /expected one of gte and gt, found both/);
});

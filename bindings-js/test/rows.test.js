/** Iterations over what cannot all be decoded. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { open } from "../dist/sync.js";

const file = new URL("../dist/terrane_bg.wasm", import.meta.url);
const wasm = new WebAssembly.Module(readFileSync(file));

test("entries before one that is not text are iterated", async (context) => {
  const db = await open("test", { storage: "memory", wasm });
  context.after(() => db.close());
  db.put("a", "1");
  db.put("b", "2");
  db.put("c", Uint8Array.of(0xff));
  db.put(Uint8Array.of(0x64, 0xff), "4");
  const seen = (iteration) => {
    const rows = [];
    const iterate = () => {
      for (const row of iteration) rows.push(row);
    };
    assert.throws(iterate, { name: "InvalidArgumentError", message: /expected UTF-8, found/ });
    return rows;
  };
  assert.deepEqual(seen(db.keys()), ["a", "b", "c"]);
  assert.deepEqual(seen(db.values()), ["1", "2"]);
  assert.deepEqual(seen(db.entries()), [
    ["a", "1"],
    ["b", "2"],
  ]);
  assert.deepEqual(seen(db.values({ reverse: true })), ["4"]);
  assert.equal([...db.keys({ keyEncoding: "binary" })].length, 4);
});

test("rows that are decoded one by one outlive what is called between them", async (context) => {
  const db = await open("test", { storage: "memory", wasm });
  context.after(() => db.close());
  for (const key of ["a", "b", "c"]) db.put(key, key.repeat(100));
  db.put("d", Uint8Array.of(0xff));
  const seen = [];
  const iterate = () => {
    for (const [key, value] of db.entries()) {
      seen.push([key, value]);
      // The memory grows, and is another for JavaScript.
      db.put(`large ${key}`, new Uint8Array(8 << 20), { valueEncoding: "binary" });
    }
  };
  assert.throws(iterate, { name: "InvalidArgumentError", message: /expected UTF-8, found/ });
  const rows = ["a", "b", "c"].map((key) => [key, key.repeat(100)]);
  assert.deepEqual(seen, rows);
});

test("a decoder that calls the store decodes all rows as they were", async (context) => {
  const db = await open("test", { storage: "memory", wasm });
  context.after(() => db.close());
  const keys = ["a", "b", "c"];
  for (const key of keys) db.put(key, key.repeat(100));
  const text = new TextDecoder();
  let large = 0;
  const decode = (bytes) => {
    const value = text.decode(bytes);
    assert.deepEqual(db.getMany(["c", "b"]), ["c".repeat(100), "b".repeat(100)]);
    // The memory grows, and is another for JavaScript.
    db.put(`large ${large++}`, new Uint8Array(8 << 20), { valueEncoding: "binary" });
    return value;
  };
  const valueEncoding = { encode: (value) => value, decode };
  const values = keys.map((key) => key.repeat(100));
  assert.deepEqual([...db.values({ lt: "d", valueEncoding })], values);
  assert.deepEqual(
    [...db.entries({ lt: "d", valueEncoding })],
    keys.map((key, at) => [key, values[at]]),
  );
  assert.deepEqual(db.getMany(keys, { valueEncoding }), values);
});

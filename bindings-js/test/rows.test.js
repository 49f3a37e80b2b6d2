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

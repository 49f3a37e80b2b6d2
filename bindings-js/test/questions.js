/** Questions about single keys and the ends of ranges, and clearing of ranges, for both stores. */

import assert from "node:assert/strict";

const numbered = (n) => String(n).padStart(5, "0");

/** Checks `has`, `hasMany`, `first`, `last` and `clear`; what does not return a promise is awaited all the same. */
export async function checkQuestions(db) {
  const counts = await db.keyspace("counts", { valueEncoding: "binary" });
  await db.batch([
    { type: "put", key: "a", value: "1" },
    { type: "put", key: "", value: "" },
    { type: "put", key: "z", value: "26" },
    { type: "put", key: "gone", value: "x" },
    { type: "put", key: "a", value: Uint8Array.of(1), keyspace: counts },
  ]);
  await db.delete("gone");
  const before = db.snapshot();
  await db.put("b", "2");

  assert.equal(await db.has("a"), true);
  assert.deepEqual(await Promise.all([db.has("gone"), db.has("none")]), [false, false]);
  assert.deepEqual(await db.hasMany(["b", "", "gone", "a", "b"]), [true, true, false, true, true]);
  assert.deepEqual(await db.hasMany([]), []);
  assert.equal(await before.has("b"), false);
  assert.equal(await counts.has("b"), false);

  assert.deepEqual(await db.first(), ["", ""]);
  assert.deepEqual(await db.last(), ["z", "26"]);
  assert.deepEqual(await db.first({ gt: "a" }), ["b", "2"]);
  assert.deepEqual(await before.first({ gt: "a" }), ["z", "26"]);
  assert.deepEqual(await db.last({ lt: "b" }), ["a", "1"]);
  assert.deepEqual(await counts.last(), ["a", Uint8Array.of(1)]);
  assert.deepEqual(await db.first({ gte: "a", keyEncoding: "binary" }), [Uint8Array.of(97), "1"]);
  assert.equal(await db.first({ gt: "z" }), undefined);
  assert.equal(await db.last({ gt: "a", lt: "b" }), undefined);

  assert.equal(await db.clear({ gte: "a", lt: "b" }), 1);
  assert.deepEqual(await db.hasMany(["a", "b"]), [false, true]);
  assert.deepEqual(await before.first({ gt: "" }), ["a", "1"]);
  before.release();
  // More than two batches; keys that are not text are cleared.
  await db.put(Uint8Array.of(0xff), "binary");
  await db.batch(
    Array.from({ length: 2345 }, (_, n) => ({ type: "put", key: numbered(n), value: "v" })),
  );
  assert.equal(await db.clear({ lte: numbered(0) }), 2);
  assert.equal(await db.clear({ durability: "sync" }), 2344 + 3);
  assert.equal(await db.count(), 0);
  assert.equal(await db.clear(), 0);
  assert.equal(await counts.count(), 1);
}

/** Calls that name what is wrong, and delete nothing. */
export const MISTAKES = [
  [(db) => db.hasMany("abc"), /^keys: expected an array, found/],
  [(db) => db.has(7), /^key: expected/],
  [(db) => db.first({ limit: 3 }), /^options: expected .*, found "limit"$/],
  [(db) => db.last({ reverse: true }), /^options: expected .*, found "reverse"$/],
  [(db) => db.clear({ gte: null }), /^gte: expected/],
  [(db) => db.clear({ prefix: "a" }), /^options: expected .*, found "prefix"$/],
  [(db) => db.clear({ gt: "a", gte: "a" }), /^range: expected one of gte and gt, found both$/],
  [(db) => db.clear({ durability: "disk" }), /^durability: expected/],
];

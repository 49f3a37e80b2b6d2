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

  const last = await db.put("k", "v");
  assert.equal(await db.deleteRange({ gte: "a", lt: "b" }), last + 1);
  assert.deepEqual(await db.hasMany(["a", "b"]), [false, true]);
  assert.deepEqual(await before.first({ gt: "" }), ["a", "1"]);
  before.release();
  // Keys that are not text are deleted as well.
  await db.put(Uint8Array.of(0xff), "binary");
  await db.batch(
    Array.from({ length: 2345 }, (_, n) => ({ type: "put", key: numbered(n), value: "v" })),
  );
  const all = await db.count();
  assert.equal(await db.deleteRange({ gt: numbered(0), lte: numbered(2) }), last + 4);
  assert.equal(await db.count(), all - 2);
  // In a batch it deletes what comes before it, and not what follows; a range without a key is none.
  const sequence = await db.batch([
    { type: "put", key: "p", value: "before" },
    { type: "put", key: "q", value: "before" },
    { type: "deleteRange", gte: "p", lt: "r" },
    { type: "put", key: "q", value: "after" },
    { type: "deleteRange", gte: "r", lt: "r" },
    { type: "deleteRange", keyspace: counts },
  ]);
  assert.deepEqual(await db.getMany(["p", "q"]), [undefined, "after"]);
  assert.equal(await counts.count(), 0);
  assert.equal(await db.deleteRange({ gt: "b", lt: "a" }), sequence);
  await db.clear({ gte: numbered(0), lt: "s", durability: "sync" });
  assert.deepEqual(await db.get("q"), undefined);
  await db.clear();
  assert.equal(await db.count(), 0);
}

/** Calls that name what is wrong, and delete nothing. */
export const MISTAKES = [
  [(db) => db.hasMany("abc"), /^keys: expected an array, found/],
  [(db) => db.has(7), /^key: expected/],
  [(db) => db.first({ limit: 3 }), /^options: expected .*, found "limit"$/],
  [(db) => db.last({ reverse: true }), /^options: expected .*, found "reverse"$/],
  [(db) => db.clear({ gte: null }), /^gte: expected/],
  [(db) => db.deleteRange({ lt: null }), /^lt: expected/],
  [
    (db) => db.batch([{ type: "deleteRange", gt: "a", gte: "a" }]),
    /^range: expected one of gte and gt/,
  ],
  [
    (db) => db.batch([{ type: "clear" }]),
    /^batch: expected operations of type "put", "delete", "deleteRange" or "merge"/,
  ],
  [(db) => db.clear({ gt: "a", gte: "a" }), /^range: expected one of gte and gt, found both$/],
  [(db) => db.clear({ durability: "disk" }), /^durability: expected/],
];

/** Prefixes, cursors and clears that count, for both stores. */

import assert from "node:assert/strict";

const numbered = (n) => String(n).padStart(5, "0");
const puts = (keys) => keys.map((key) => ({ type: "put", key, value: `v${key}` }));
const all = async (iteration) => {
  const items = [];
  for await (const item of iteration) items.push(item);
  return items;
};

/** Checks ranges that are given by a prefix. */
export async function checkPrefixes(db) {
  const high = Uint8Array.of(0x61, 0xff, 0xff);
  await db.batch(puts(["a", "aa", "ab", "b", high]));
  assert.deepEqual(await all(db.keys({ prefix: "aa" })), ["aa"]);
  assert.equal(await db.count({ prefix: "a" }), 4);
  assert.equal(await db.count({ prefix: "" }), 5);
  assert.equal(await db.count({ prefix: Uint8Array.of(0x61, 0xff) }), 1);
  assert.equal(await db.count({ prefix: Uint8Array.of(0xff) }), 0);
  assert.deepEqual(await db.last({ prefix: "a", keyEncoding: "binary" }), [high, `v${high}`]);
  // The key behind the longest one is longer.
  const longest = "k".repeat(65_535);
  await db.put(longest, "");
  assert.equal(await db.count({ gt: longest }), 0);
  assert.equal(await db.count({ gte: longest, lte: longest }), 1);
  assert.deepEqual(await all(db.keys({ lte: longest, reverse: true, limit: 1 })), [longest]);
  assert.equal(await db.clear({ gt: "b", lte: longest }), 1);
  await db.transact((tx) => tx.deleteRange({ prefix: "aa" }));
  await db.batch([{ type: "deleteRange", prefix: Uint8Array.of(0x61, 0xff, 0xff) }]);
  assert.deepEqual(await all(db.keys()), ["a", "ab", "b"]);
  assert.equal(await db.clear({ prefix: "a" }), 2);
  assert.deepEqual(await all(db.keys()), ["b"]);
}

/** Checks cursors: both directions, both ends, seeks, the moment of the call, snapshots. */
export async function checkCursors(db) {
  await db.batch(puts(["a", "c", "e", "g"]));
  const snapshot = db.snapshot();
  await db.put("d", "new");
  const cursor = db.cursor({ gte: "b", rows: "keys" });
  await db.put("f", "later");
  assert.deepEqual(await cursor.next(2), ["c", "d"]);
  assert.deepEqual(await cursor.next(5), ["e", "g"], "the moment of the call");
  assert.deepEqual(await cursor.next(1), []);
  assert.deepEqual(await cursor.prev(2), ["g", "e"], "back from the end");
  assert.deepEqual(await cursor.prev(9), ["d", "c"]);
  assert.deepEqual(await cursor.prev(9), []);
  assert.deepEqual(await cursor.next(1), ["c"], "on from the start");
  cursor.seek("d");
  assert.deepEqual(await cursor.prev(1), ["d"]);
  cursor.seek("dd");
  assert.deepEqual(await cursor.prev(1), ["d"]);
  assert.deepEqual(await cursor.next(1), ["e"]);
  cursor.seek("z");
  assert.deepEqual(await cursor.next(1), []);
  assert.deepEqual(await cursor.prev(1), ["g"]);
  cursor.seek("");
  assert.deepEqual(await cursor.prev(1), []);
  assert.deepEqual(await cursor.next(1), ["c"]);
  cursor.seek("e");
  cursor.close();
  cursor.close();
  await assert.rejects(async () => cursor.next(1), { code: "closed" });

  const before = snapshot.cursor({ lt: "g", valueEncoding: "binary" });
  assert.deepEqual(await before.prev(2), [
    ["e", new TextEncoder().encode("ve")],
    ["c", new TextEncoder().encode("vc")],
  ]);
  before.close();
  snapshot.release();
  const values = db.cursor({ prefix: "a", rows: "values" });
  // Not awaited in between.
  const pages = await Promise.all([values.next(1), values.prev(1), values.next(3)]);
  assert.deepEqual(pages, [["va"], [], ["va"]]);
  values.close();
  const none = db.cursor({ prefix: "none" });
  assert.deepEqual([await none.next(3), await none.prev(3), await none.next(1)], [[], [], []]);
  for (const n of [0, -1, 1.5, "1", undefined, 2 ** 32]) {
    await assert.rejects(async () => none.next(n), { code: "invalid-argument", message: /^n: / });
  }
  none.close();
}

/** Checks how many entries a clear deletes, and which. */
export async function checkClears(db) {
  const keys = Array.from({ length: 3500 }, (_, n) => numbered(n));
  await db.batch(puts(keys));
  const remaining = () => db.count();
  assert.equal(await db.clear({ limit: 0 }), 0);
  assert.equal(await db.clear({ prefix: "none" }), 0);
  assert.equal(await db.clear({ gte: numbered(10), limit: 1 }), 1);
  assert.deepEqual(await db.hasMany([numbered(9), numbered(10), numbered(11)]), [
    true,
    false,
    true,
  ]);
  assert.equal(await db.clear({ limit: 2345 }), 2345);
  assert.deepEqual((await db.first())[0], numbered(2346));
  assert.equal(await db.clear({ limit: 100, reverse: true }), 100);
  assert.deepEqual((await db.last())[0], numbered(3399));
  assert.equal(await remaining(), 3400 - 2346);
  assert.equal(await db.clear({ lt: numbered(2348), limit: 9 }), 2);
  // Later writes stay, awaited or not.
  await db.batch(puts(keys));
  const [count] = await Promise.all([
    db.clear({ limit: 3000, durability: "sync" }),
    db.put(numbered(5), "later"),
    db.put(numbered(2500), "later"),
    db.put("behind", "later"),
  ]);
  assert.equal(count, 3000);
  assert.deepEqual(await db.getMany([numbered(5), numbered(2500)]), ["later", "later"]);
  assert.equal(await remaining(), 500 + 3);
  assert.equal(await db.clear(), 503);
  assert.equal(await remaining(), 0);
}

/** Mistaken ranges. */
export const MISTAKES = [
  [(db) => db.count({ prefix: "a", gte: "a" }), /^range: expected a prefix or bounds, found both$/],
  [(db) => db.deleteRange({ prefix: "a", lt: "b" }), /^range: expected a prefix or bounds/],
  [(db) => db.clear({ prefix: 7 }), /^prefix: expected/],
  [(db) => db.clear({ limit: -1 }), /^limit: expected/],
  [(db) => db.cursor({ rows: "all" }), /^rows: expected "entries", "keys" or "values"/],
  [(db) => db.cursor({ limit: 3 }), /^options: expected .*, found "limit"$/],
];

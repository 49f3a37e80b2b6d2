/** Watches and queries that follow what they read, for both stores. */

import assert from "node:assert/strict";

const put = (key, value = "v") => ({ type: "put", key, value });
const next = async (iteration) => (await iteration.next()).value;

/** Checks which changes a watch yields, and when. */
export async function checkWatches(db) {
  const users = db.keyspace("users");
  const watch = db.watch({ prefix: "a" });
  const other = users.watch({ keyEncoding: "binary" });
  const aborter = new AbortController();
  const aborted = db.watch({ signal: aborter.signal });
  await db.put("b", "outside");
  const sequence = await db.batch([put("ab"), put("aa"), put("ab", "again"), put("b")]);
  assert.deepEqual(await next(watch), { sequence, keys: ["aa", "ab"] });

  // The writer's reply is first.
  const order = [];
  const changed = next(watch).then(({ keys }) => order.push(keys));
  const wrote = (async () => db.put("a", "v"))().then(() => order.push("reply"));
  await Promise.all([changed, wrote]);
  assert.deepEqual(order, ["reply", ["a"]]);

  // A slow consumer gets one sum.
  let last;
  for (const key of ["a1", "a3", "a2", "a1"]) last = await db.put(key, "v");
  await db.delete("a3");
  assert.deepEqual(await next(watch), { sequence: last + 1, keys: ["a1", "a2", "a3"] });

  // Too many keys, or too long ones.
  await db.batch(Array.from({ length: 1000 }, (_, n) => put(`a${n + 1000}`)));
  assert.equal((await next(watch)).keys.length, 1000);
  for (let n = 0; n < 3; n++) {
    await db.batch(Array.from({ length: 1001 }, (_, n) => put(`a${n + 1000}`)));
  }
  assert.equal((await next(watch)).keys, undefined);
  await db.batch(Array.from({ length: 5000 }, () => put("again")));
  assert.deepEqual((await next(watch)).keys, ["again"]);
  await db.batch([put("a".repeat(40_000)), put("a".repeat(40_001))]);
  assert.equal((await next(watch)).keys, undefined);

  // Deletes of ranges, merely touching ones, clears, conditions, transactions.
  await db.deleteRange({ gte: "A", lt: "a" });
  await db.deleteRange({ gte: "b" });
  await db.put("a0", "v");
  assert.deepEqual((await next(watch)).keys, ["a0"]);
  await db.deleteRange({ gte: "A", lt: "a0" });
  assert.equal((await next(watch)).keys, undefined);
  assert.equal(await db.clear({ limit: 2 }), 2);
  assert.equal((await next(watch)).keys, undefined);
  await db.batch([put("a2")], { if: [{ key: "none", exists: false }] });
  assert.deepEqual((await next(watch)).keys, ["a2"]);
  const refused = async () => db.batch([put("a3")], { if: [{ key: "none", exists: true }] });
  await assert.rejects(refused, { code: "conflict" });
  await db.transact((tx) => tx.put("a4", "v"));
  assert.deepEqual((await next(watch)).keys, ["a4"]);

  // Other keyspaces, and the end of one.
  await db.batch([{ ...put("k"), keyspace: users }]);
  assert.deepEqual((await next(other)).keys, [Uint8Array.of(0x6b)]);
  await db.dropKeyspace("users");
  assert.equal((await next(other)).keys, undefined);
  await other.return();

  // Everything that it has not taken is one.
  assert.equal((await next(aborted)).keys, undefined);
  const waiting = next(aborted);
  aborter.abort();
  await assert.rejects(waiting, { code: "aborted" });
  await assert.rejects(async () => db.watch({ limit: 3 }), { code: "invalid-argument" });

  await watch.return();
  const ended = db.watch();
  const end = ended.next();
  await db.close();
  assert.deepEqual(await end, { done: true, value: undefined });
}

/** Checks when a query runs again, and what it yields. */
export async function checkLive(db) {
  const users = db.keyspace("users");
  await db.batch([put("a/1", "1"), put("b", "2"), { ...put("ada", "3"), keyspace: users }]);
  let runs = 0;
  const results = db.live(async (reader) => {
    runs += 1;
    const keys = [];
    for await (const key of reader.keys({ prefix: "a/" })) keys.push(key);
    return [keys.join(), await reader.get("b"), await reader.keyspace(users).count()];
  });
  assert.deepEqual(await next(results), ["a/1", "2", 1]);
  await db.put("c", "outside");
  await db.put("a/2", "v");
  await db.put("a/3", "v");
  assert.deepEqual(await next(results), ["a/1,a/2,a/3", "2", 1]);
  await db.put("b", "new");
  assert.deepEqual(await next(results), ["a/1,a/2,a/3", "new", 1]);
  await users.put("bob", "v");
  assert.deepEqual(await next(results), ["a/1,a/2,a/3", "new", 2]);
  assert.equal(runs, 4);
  await results.return();

  // What changes while the query runs is not missed.
  let write = true;
  const racing = db.live(async (reader) => {
    const before = await reader.get("b");
    if (write) await db.put("b", "meanwhile");
    write = false;
    return before;
  });
  assert.equal(await next(racing), "new");
  assert.equal(await next(racing), "meanwhile");
  await racing.return();

  // Many keys are followed as their keyspace.
  const many = db.live((reader) => reader.getMany(Array.from({ length: 2000 }, (_, n) => `${n}`)));
  assert.equal((await next(many)).length, 2000);
  await db.put("1234", "v");
  assert.equal((await next(many))[1234], "v");
  await many.return();

  const failing = db.live(() => {
    throw new Error("of the query");
  });
  await assert.rejects(failing.next(), /of the query/);
  await assert.rejects(async () => db.live("query"), { code: "invalid-argument" });
}

/** Merges, for both stores, which have the build with all policies. */

import assert from "node:assert/strict";

/** Checks `merge`; what does not return a promise is awaited all the same. */
export async function checkMerges(db, { InvalidArgumentError }) {
  const refused = async (call, message) => {
    const error = await (async () => call())().then(assert.fail, (reason) => reason);
    assert.ok(error instanceof InvalidArgumentError, error);
    assert.match(error.message, message);
  };
  const rows = async () => {
    const all = [];
    for await (const row of db.entries()) all.push(row);
    return Object.fromEntries(all);
  };
  await db.put("a", "10");
  const sequence = await db.merge("a", { add: 5 });
  assert.deepEqual(await db.getVersioned("a"), { value: "15", sequence, expiresAt: undefined });
  await db.merge("b", { add: -(2n ** 63n) }, { durability: "sync" });
  await db.merge("b", { add: -1 });
  await db.merge("c", { max: 7 });
  await db.merge("c", { min: 3n });
  await db.put("d", "text");
  await db.merge("d", { add: 1 });
  assert.deepEqual(await rows(), { a: "15", b: String(-(2n ** 63n)), c: "3", d: "1" });
  await db.deleteRange();
  await db.batch([
    { type: "put", key: "a", value: "1" },
    { type: "merge", key: "a", add: 1 },
    { type: "merge", key: "b", max: -4 },
  ]);
  assert.deepEqual(await rows(), { a: "2", b: "-4" });

  await db.transact((tx) => {
    tx.merge("a", { add: 1 });
    tx.merge("a", { add: 1 });
    tx.put("c", "5");
    tx.merge("c", { min: 4 });
    tx.delete("b");
    tx.merge("b", { add: 9 });
    tx.merge("d", { add: 1 });
    return undefined;
  });
  assert.deepEqual(await rows(), { a: "4", b: "9", c: "4", d: "1" });
  await db.deleteRange();

  await refused(() => db.merge("a", {}), /operand: expected one of add, min and max, found none/);
  await refused(() => db.merge("a", { add: 1, min: 2 }), /found add and min/);
  await refused(() => db.merge("a", undefined), /found none/);
  await refused(() => db.merge("a", { plus: 1 }), /operand: expected add.*, found "plus"/);
  for (const add of [1.5, 2 ** 53, 2n ** 63n, "1", null, NaN, [1]]) {
    await refused(() => db.merge("a", { add }), /add: expected a safe integer/);
  }
  await refused(() => db.batch([{ type: "merge", key: "a", ad: 1 }]), /found "ad"/);
  assert.equal((await db.stats()).keyspaces[0].values, "counters");
  // This keyspace has merges.
  const refusal = /no values that expire in "default", which has had merges of numbers/;
  await refused(() => db.put("a", "1", { ttl: 5 }), refusal);
  await refused(
    () =>
      db.transact((tx) => {
        tx.put("a", "1", { ttl: 5000 });
        tx.merge("a", { add: 1 });
        return undefined;
      }),
    refusal,
  );
  assert.deepEqual(await rows(), {});
}

/** Merges within a transaction; `body` returns two values and the rows backward. */
export async function checkMergesWithinTransaction(db, body) {
  await db.put("a", "1");
  const seen = await db.transact((tx) => {
    tx.merge("a", { add: 1 });
    tx.merge("b", { max: 3 });
    return body(tx);
  });
  const rows = [
    ["b", "3"],
    ["a", "2"],
  ];
  assert.deepEqual(seen, [["2", "3"], rows]);
}

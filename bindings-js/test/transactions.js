/** Transactions, for both stores. */

import assert from "node:assert/strict";

const collect = async (iteration) => {
  const entries = [];
  for await (const entry of iteration) entries.push(entry);
  return entries;
};

/**
 * Checks what a transaction sees and leaves. `transact(db, body)` runs a body that yields the results of its calls,
 * and continues with their values.
 */
export async function checkTransactions(db, transact) {
  const other = await db.keyspace("other", { valueEncoding: "binary" });
  await db.batch([
    ...["b", "d", "f"].map((key) => ({ type: "put", key, value: key.toUpperCase() })),
    { type: "put", key: "d", value: Uint8Array.of(4), keyspace: other },
  ]);
  const seen = await transact(db, function* (tx) {
    tx.put("c", "new");
    tx.put("f", "changed");
    tx.delete("b");
    tx.put("gone", "expired", { ttl: 0 });
    tx.put("c", "new", { ttl: 3_600_000 });
    tx.keyspace(other).put("x", Uint8Array.of(9));
    const rows = (options) => collectSteps(tx.entries(options));
    return {
      get: [yield tx.get("b"), yield tx.get("c"), yield tx.get("d"), yield tx.get("none")],
      many: yield tx.getMany(["f", "b", "d"], { valueEncoding: "binary" }),
      has: [yield tx.has("b"), yield tx.has("c")],
      other: [yield tx.keyspace(other).get("x"), yield tx.keyspace(other).get("d")],
      all: yield* rows(),
      reverse: yield* rows({ reverse: true, lt: "f" }),
      limit: yield* rows({ limit: 2, keyEncoding: "binary" }),
      none: yield* rows({ gte: "x" }),
      emptyBound: yield* rows({ lt: "" }),
    };
  });
  const entries = [
    ["c", "new"],
    ["d", "D"],
    ["f", "changed"],
  ];
  assert.deepEqual(seen, {
    get: [undefined, "new", "D", undefined],
    many: [Buffer.from("changed"), undefined, Buffer.from("D")].map(
      (bytes) => bytes && Uint8Array.from(bytes),
    ),
    has: [false, true],
    other: [Uint8Array.of(9), Uint8Array.of(4)],
    all: entries,
    reverse: entries.slice(0, 2).reverse(),
    limit: [
      [Uint8Array.of(99), "new"],
      [Uint8Array.of(100), "D"],
    ],
    none: [],
    emptyBound: [],
  });
  assert.deepEqual(await collect(db.entries()), entries);
  assert.deepEqual(await other.get("x"), Uint8Array.of(9));

  // A range that it deletes is gone at once, but for what it writes into it later.
  const left = await transact(db, function* (tx) {
    tx.put("e", "before");
    tx.deleteRange({ gt: "c", lt: "f" });
    tx.put("dd", "after");
    return {
      many: yield tx.getMany(["d", "e", "dd", "f"]),
      all: yield* collectSteps(tx.entries()),
      reverse: yield* collectSteps(tx.entries({ reverse: true, limit: 2 })),
    };
  });
  const remaining = [
    ["c", "new"],
    ["dd", "after"],
    ["f", "changed"],
  ];
  assert.deepEqual(left, {
    many: [undefined, undefined, "after", "changed"],
    all: remaining,
    reverse: remaining.slice(1).reverse(),
  });
  assert.deepEqual(await collect(db.entries()), remaining);
  await db.batch([
    { type: "put", key: "d", value: "D" },
    { type: "delete", key: "dd" },
  ]);

  // An error is passed on, and nothing is written; the transaction is closed.
  const mine = new Error("mine");
  let kept;
  const failed = transact(db, function* (tx) {
    kept = tx;
    tx.put("c", "lost");
    yield tx.get("c");
    throw mine;
  });
  await assert.rejects(failed, (error) => error === mine);
  assert.equal(await db.get("c"), "new");
  assert.throws(() => kept.put("c", "late"), { code: "closed" });

  // One that is always outrun says so, with what was found in the encodings of its keyspace.
  const outrun = transact(db, function* (tx) {
    yield tx.get("c");
    yield db.put("c", "new");
    tx.put("c", "mine");
  });
  await assert.rejects(outrun, ({ code, message, conflicts: [{ key, value }] }) => {
    assert.match(message, /^the transaction ran 10 times/);
    assert.deepEqual([code, key, value], ["conflict", "c", "new"]);
    return true;
  });
  const key = await transact(db, function* (tx) {
    assert.throws(() => tx.put(7, ""), { code: "invalid-argument" });
    assert.throws(() => tx.keyspace({}), { code: "invalid-argument" });
    return (yield* collectSteps(tx.entries({ limit: 1 })))[0][0];
  });
  assert.equal(key, "c");
  await assert.rejects(async () => db.transact("body"), { message: /^body: expected a function/ });
  await assert.rejects(async () => db.transact(() => 0, { sync: true }), /^.*options: expected/);
}

/** Collects an iteration of either store step by step. */
function* collectSteps(iteration) {
  const entries = [];
  for (;;) {
    const { done, value } = yield iteration.next();
    if (done) return entries;
    entries.push(value);
  }
}

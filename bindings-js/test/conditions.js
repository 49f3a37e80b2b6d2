/** Conditional batches and versions, for both stores. */

import assert from "node:assert/strict";

/** Checks batches with conditions and `getVersioned`; what does not return a promise is awaited all the same. */
export async function checkConditions(db, ConflictError) {
  const counts = await db.keyspace("counts", { valueEncoding: "binary" });
  const put = (key, value = "new") => [{ type: "put", key, value }];
  const batch = async (operations, ...conditions) => db.batch(operations, { if: conditions });
  const conflicts = async (operations, ...conditions) => {
    const refused = await batch(operations, ...conditions).then(assert.fail, (error) => error);
    assert.ok(refused instanceof ConflictError, refused);
    assert.equal(refused.code, "conflict");
    return refused.conflicts;
  };
  const one = await db.put("a", "1");
  const two = await db.put("b", "é");
  await db.put("gone", "x");
  const gone = await db.delete("gone");

  assert.deepEqual(await db.getVersioned("a"), {
    value: "1",
    sequence: one,
    expiresAt: undefined,
  });
  const binary = { value: Uint8Array.of(0xc3, 0xa9), sequence: two, expiresAt: undefined };
  assert.deepEqual(await db.getVersioned("b", { valueEncoding: "binary" }), binary);
  assert.equal(await db.getVersioned("gone"), undefined);

  const a = { condition: 0, key: "a", value: "1", sequence: one, expiresAt: undefined };
  assert.deepEqual(await conflicts(put("c"), { key: "a", exists: false }), [a]);
  assert.deepEqual(await conflicts(put("c"), { key: "a", sequence: two }), [a]);
  assert.deepEqual(await conflicts(put("c"), { key: "a", value: "2" }), [a]);
  const nothing = { value: undefined, sequence: undefined, expiresAt: undefined };
  const none = { condition: 0, key: "gone", ...nothing };
  assert.deepEqual(await conflicts(put("c"), { key: "gone", exists: true }), [none]);
  assert.deepEqual(
    await conflicts(put("c"), { key: "a", exists: true }, { key: "b", exists: false }),
    [{ condition: 1, key: "b", value: "é", sequence: two, expiresAt: undefined }],
  );
  assert.equal(await db.get("c"), undefined);
  // A refused batch takes no number.
  const written = await batch(
    put("c"),
    { key: "a", value: "1" },
    { key: "b", sequence: two },
    { key: "", exists: false },
    { key: "c", exists: false, keyspace: counts },
  );
  assert.equal(written, gone + 1);

  // A mistyped field would leave the condition on another keyspace, or on all keys.
  const refuses = (condition, found) =>
    assert.rejects(batch(put("c"), condition), {
      code: "invalid-argument",
      message: new RegExp(`^if: expected .*, found "${found}"$`),
    });
  await refuses({ key: "n", exists: false, keySpace: counts }, "keySpace");
  await refuses({ key: "n", exists: false, prefix: "n" }, "prefix");
  const before = db.snapshot();
  await refuses({ prefix: "n", unchangedSince: before, limit: 1 }, "limit");
  before.release();

  // Conflicts are in the encodings of the condition's keyspace; bytes that are no text stay bytes.
  await counts.put("n", Uint8Array.of(0xff));
  await db.put(Uint8Array.of(0xfe), "t");
  const found = await conflicts(
    put("c"),
    { key: "n", exists: false, keyspace: counts },
    { key: Uint8Array.of(0xfe), exists: false },
  );
  assert.deepEqual(
    found.map(({ key, value }) => [key, value]),
    [
      ["n", Uint8Array.of(0xff)],
      [Uint8Array.of(0xfe), "t"],
    ],
  );
  await db.delete(Uint8Array.of(0xfe));

  const snapshot = db.snapshot();
  const unchanged = { gte: "c", lt: "e", unchangedSince: snapshot };
  await db.put("e", "");
  const synced = db.batch(put("x"), { if: [unchanged], durability: "sync" });
  assert.equal(await synced, written + 5);
  await db.delete("d");
  assert.deepEqual(await conflicts(put("c"), unchanged), [{ ...none, key: "d" }]);
  assert.equal(await batch(put("y"), { ...unchanged, keyspace: counts }), written + 7);
  assert.equal(await batch([], { key: "y", exists: true }), written + 7);
  assert.equal(await snapshot.getVersioned("e"), undefined);
  snapshot.release();

  // Of batches that are sent together one wins.
  const races = Array.from({ length: 4 }, (_, n) =>
    batch(put("race", `${n}`), { key: "race", exists: false }),
  );
  const settled = await Promise.allSettled(races);
  assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
}

/** Conditions that name what is wrong; their batches write nothing. */
export const MISTAKES = [
  [{ if: 7 }, /^if: expected an array of conditions, found 7$/],
  [{ if: [null] }, /^if: expected conditions that are objects, found null$/],
  [{ if: [{ key: "k" }] }, /^if: expected one of exists, sequence, value and unchangedSince/],
  [{ if: [{ key: "k", exists: true, value: "v" }] }, /^if: expected one of/],
  [
    { if: [{ exists: true }] },
    /^key: expected a string, a view or an ArrayBuffer, found undefined$/,
  ],
  [{ if: [{ key: "k", exists: 1 }] }, /^exists: expected true or false, found 1$/],
  [{ if: [{ key: "k", sequence: 1.5 }] }, /^sequence: expected an integer, found 1.5$/],
  [{ if: [{ key: "k", value: 3 }] }, /^value: expected/],
  [{ if: [{ key: "k", exists: true, keyspace: {} }] }, /^if: expected keyspaces of this store/],
  [{ if: [{ unchangedSince: {} }] }, /^if: expected snapshots of this store/],
  [{ if: [{ gt: "a", gte: "a", unchangedSince: null }] }, /^if: expected snapshots/],
];

/** Values that expire, for both stores. */

import assert from "node:assert/strict";

/** The year 2286. */
const LATER = 10_000_000_000_000;

/** Checks `ttl` and `expiresAt`; what does not return a promise is awaited all the same. */
export async function checkExpiry(db, { ConflictError, InvalidArgumentError }) {
  const refused = async (call, message) => {
    const error = await (async () => call())().then(assert.fail, (reason) => reason);
    assert.ok(error instanceof InvalidArgumentError, error);
    assert.match(error.message, message);
  };
  const sequence = await db.put("a", "1", { expiresAt: LATER });
  assert.deepEqual(await db.getVersioned("a"), { value: "1", sequence, expiresAt: LATER });
  assert.equal(await db.get("a"), "1");
  await db.put("b", Uint8Array.of(0xc3, 0xa9), { expiresAt: new Date(LATER), durability: "sync" });
  assert.equal((await db.getVersioned("b")).expiresAt, LATER);
  const before = Date.now();
  await db.put("c", "3", { ttl: 3_600_000 });
  const { expiresAt } = await db.getVersioned("c");
  assert.ok(expiresAt >= before + 3_600_000 && expiresAt <= Date.now() + 3_600_001, expiresAt);
  await db.put("c", "stays");
  assert.equal((await db.getVersioned("c")).expiresAt, undefined);

  // What has expired hides what was there before.
  const snapshot = db.snapshot();
  await db.put("c", "gone", { ttl: 0 });
  assert.equal(await db.get("c"), undefined);
  assert.deepEqual(await db.hasMany(["a", "b", "c"]), [true, true, false]);
  const keys = [];
  for await (const key of db.keys()) keys.push(key);
  assert.deepEqual(keys, ["a", "b"]);
  assert.equal(await snapshot.get("c"), "stays");
  snapshot.release();
  await db.put("d", "short", { ttl: 5 });
  while ((await db.get("d")) !== undefined) await new Promise((resolve) => setTimeout(resolve, 1));

  await db.batch([
    { type: "put", key: "e", value: "5", expiresAt: LATER },
    { type: "put", key: "f", value: "6", ttl: 0 },
    { type: "put", key: "g", value: "7" },
  ]);
  assert.deepEqual(await db.getMany(["e", "f", "g"]), ["5", undefined, "7"]);
  const lock = async (expiry) =>
    db.batch([{ type: "put", key: "lock", value: "me", ...expiry }], {
      if: [{ key: "lock", exists: false }],
    });
  await lock({ ttl: 0 });
  await lock({ expiresAt: LATER });
  const conflict = await lock({ ttl: 0 }).then(assert.fail, (error) => error);
  assert.ok(conflict instanceof ConflictError, conflict);
  assert.equal(conflict.conflicts[0].expiresAt, LATER);

  await refused(
    () => db.put("x", "", { ttl: -1 }),
    /ttl: expected milliseconds, such as .*, found -1/,
  );
  await refused(() => db.put("x", "", { ttl: Number.NaN }), /found NaN/);
  await refused(
    () => db.put("x", "", { ttl: 1, expiresAt: 1 }),
    /one of ttl and expiresAt, found both/,
  );
  await refused(() => db.put("x", "", { expiresAt: new Date("x") }), /expiresAt: expected a Date/);
  await refused(() => db.put("x", "", { expiresAt: "2030" }), /expiresAt: expected a Date/);
  await refused(() => db.put("x", "", { expiresAt: -1 }), /expiresAt: expected a Date/);
  await refused(() => db.put("x", "", { expires: 1 }), /options: expected expiresAt/);
  await refused(() => db.batch([{ type: "put", key: "x", value: "", ttl: -1 }]), /ttl/);
  await refused(() => db.delete("x", { ttl: 1 }), /options/);
  for (const ttl of ["5", [5], null, "", true, new Date(5), 5n, Infinity]) {
    await refused(() => db.put("x", "", { ttl }), /ttl: expected milliseconds/);
  }
  // A mistyped name would keep a value for ever, or delete everything.
  const batch = (operation) => () => db.batch([{ key: "x", ...operation }]);
  await refused(batch({ type: "put", value: "", tll: 5 }), /batch: expected .*ttl.*, found "tll"/);
  await refused(batch({ type: "delete", ttl: 5 }), /found "ttl"/);
  const deleted = () => db.batch([{ type: "deleteRange", start: "a" }]);
  await refused(deleted, /batch: expected .*gte.*, found "start"/);
  assert.equal(await db.has("x"), false);
}

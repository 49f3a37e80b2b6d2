/** Encodings of keys and values, for both stores. */

import assert from "node:assert/strict";
import { tuple } from "../dist/tuple.js";

const all = async (iteration) => {
  const items = [];
  for await (const item of iteration) items.push(item);
  return items;
};

/** Checks the encodings of single calls. */
async function checkCalls(db) {
  const json = { keyEncoding: "json", valueEncoding: "json" };
  const key = { keyEncoding: "json" };
  await db.put({ n: 1 }, [2], json);
  assert.equal(await db.get('{"n":1}'), "[2]");
  assert.deepEqual(await db.get({ n: 1 }, json), [2]);
  assert.equal(await db.get({ n: 1 }, key), "[2]");
  assert.deepEqual((await db.getVersioned({ n: 1 }, json)).value, [2]);
  assert.deepEqual(await db.getMany([{ n: 1 }, "n"], json), [[2], undefined]);
  assert.equal(await db.has({ n: 1 }, key), true);
  assert.deepEqual(await db.hasMany([{ n: 1 }, "n"], key), [true, false]);
  await db.delete({ n: 1 }, key);
  assert.equal(await db.has('{"n":1}'), false);
  for (const call of [
    () => db.put("k", "v", { keyEncoding: "text" }),
    () => db.get("k", { keyEncoding: "text" }),
  ]) {
    await assert.rejects(async () => call(), /^InvalidArgumentError: keyEncoding: expected "utf8"/);
  }
}

/** Checks what encodings take and return, everywhere. */
export async function checkEncodings(db) {
  await checkCalls(db);
  const tasks = db.keyspace("tasks", { keyEncoding: tuple, valueEncoding: "json" });
  await tasks.put(["ada", 2], { done: false });
  await tasks.batch([
    { type: "put", key: ["ada", 10], value: [1, null] },
    { type: "put", key: ["bob", 1], value: "text" },
    { type: "put", key: "plain", value: "utf8", keyspace: db },
  ]);
  await db.batch([{ type: "put", key: ["ada", -1], value: 0, keyspace: tasks }]);
  assert.deepEqual(await tasks.get(["ada", 2]), { done: false });
  assert.deepEqual(await tasks.getMany([["ada", 10], ["none"]]), [[1, null], undefined]);
  assert.deepEqual((await tasks.getVersioned(["bob", 1])).value, "text");
  assert.deepEqual(
    await tasks.hasMany([
      ["ada", 2],
      ["ada", 3],
    ]),
    [true, false],
  );
  assert.deepEqual(await all(tasks.keys({ prefix: ["ada"] })), [
    ["ada", -1],
    ["ada", 2],
    ["ada", 10],
  ]);
  assert.deepEqual(await all(tasks.entries({ gt: ["ada", 2], lt: ["bob"] })), [
    [
      ["ada", 10],
      [1, null],
    ],
  ]);
  assert.deepEqual(await tasks.last({ valueEncoding: "utf8" }), [["bob", 1], '"text"']);
  assert.equal(await tasks.count({ lte: ["ada", 2] }), 2);
  const cursor = tasks.cursor({ rows: "keys" });
  cursor.seek(["ada", 3]);
  assert.deepEqual(await cursor.next(1), [["ada", 10]]);
  cursor.close();
  const snapshot = db.snapshot();
  assert.equal(await snapshot.keyspace(tasks).get(["ada", -1]), 0);
  const watch = tasks.watch({ prefix: ["ada"] });
  await tasks.batch([{ type: "put", key: ["ada", 1], value: true }], {
    if: [
      { key: ["ada", 2], value: { done: false } },
      { prefix: ["carl"], unchangedSince: snapshot },
      { key: ["none"], exists: false },
    ],
  });
  snapshot.release();
  assert.deepEqual((await watch.next()).value.keys, [["ada", 1]]);
  await watch.return();
  const refused = async () => tasks.batch([], { if: [{ key: ["ada", 2], exists: false }] });
  const conflict = await refused().then(assert.fail, (error) => error);
  assert.deepEqual(conflict.conflicts[0].key, ["ada", 2]);
  assert.deepEqual(conflict.conflicts[0].value, { done: false });
  await db.transact((tx) => {
    const own = tx.keyspace(tasks);
    own.put(["carl"], { n: 1 });
    own.delete(["ada", 1]);
    own.deleteRange({ prefix: ["bob"] });
    return own.get(["carl"]);
  });
  assert.deepEqual(await tasks.get(["carl"]), { n: 1 });
  assert.equal(await tasks.clear({ prefix: ["ada"], limit: 2 }), 2);
  assert.deepEqual(await all(tasks.keys()), [["ada", 10], ["carl"]]);
  await tasks.deleteRange({ gte: ["ada"] });
  assert.equal(await tasks.count(), 0);

  // Any bytes.
  const { buffer } = Uint8Array.of(0, 1, 2, 3);
  await db.put(new Uint16Array(buffer, 2), buffer);
  await db.put(new DataView(buffer, 3), "view");
  assert.deepEqual(
    await db.get(Uint8Array.of(2, 3), { valueEncoding: "binary" }),
    Uint8Array.of(0, 1, 2, 3),
  );
  assert.equal(await db.get(Uint8Array.of(3)), "view");
}

/** Checks that mistakes of encodings are reported, and nothing of their batch is written. */
export async function checkMistakes(db) {
  const thrown = new Error("of the codec");
  const fails = {
    encode: () => {
      throw thrown;
    },
    decode: () => {
      throw thrown;
    },
  };
  const failing = db.keyspace("k", { valueEncoding: fails });
  const nothing = db.keyspace("k", { valueEncoding: { ...fails, encode: () => 7 } });
  const json = db.keyspace("k", { valueEncoding: "json" });
  const tuples = db.keyspace("k", { keyEncoding: tuple });
  const plain = db.keyspace("k");
  const refuses = (call, message) =>
    assert.rejects(async () => call(), { code: "invalid-argument", message });
  for (const write of [
    () => failing.put("a", 1),
    () =>
      db.batch([
        { type: "put", key: "a", value: "v" },
        { type: "put", key: "b", value: 1, keyspace: failing },
      ]),
  ]) {
    const error = await (async () => write())().then(assert.fail, (reason) => reason);
    assert.equal(error.code, "invalid-argument");
    assert.equal(error.cause, thrown);
  }
  assert.equal(await db.get("a"), undefined);
  const error = await (async () => nothing.put("a", 1))().then(assert.fail, (reason) => reason);
  assert.match(error.message, /value: expected an encoding that returns bytes, found 7/);
  assert.ok(error.cause instanceof TypeError);
  await refuses(
    () => json.put("a", undefined),
    /value: expected what JSON can express, found undefined/,
  );
  await refuses(() => json.put("a", 1n), /value: its encoding failed/);
  await refuses(() => tuples.get([undefined]), /key: its encoding failed: .*found undefined/);
  await refuses(() => tuples.get("text"), /key: its encoding failed/);
  await refuses(
    () => db.keyspace("k", { keyEncoding: "utf-8" }).name,
    /keyEncoding: expected "utf8"/,
  );
  assert.equal(await plain.count(), 0);

  await plain.batch([
    { type: "put", key: "a", value: "1" },
    { type: "put", key: "b", value: "{" },
    { type: "put", key: "c", value: "3" },
  ]);
  const named = /value of "b": expected JSON, found 1 bytes that are not; read them as "binary"/;
  await refuses(() => json.get("b"), named);
  await refuses(() => json.getVersioned("b"), named);
  await refuses(() => json.getMany(["a", "b"]), named);
  const read = [];
  await refuses(async () => {
    for await (const [key, value] of json.entries()) read.push([key, value]);
  }, named);
  assert.deepEqual(read, [["a", 1]]);
  assert.equal((await all(json.entries({ valueEncoding: "binary" }))).length, 3);
  await refuses(
    () => all(tuples.keys()),
    /value of "a": expected what the encoding decodes, .*does not: /,
  );
  await refuses(
    () => failing.get("a"),
    /value of "a": expected what the encoding decodes, .*does not: /,
  );
}

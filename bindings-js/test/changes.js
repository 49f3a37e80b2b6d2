/** The change feed, for both stores. */

import assert from "node:assert/strict";

const next = async (iteration) => (await iteration.next()).value;
const put = (key, value = "v") => ({ type: "put", key, value });
/** An operation as the feed has it. */
const operation = (rest, keyspace = "default") => ({ keyspace, ...rest });

/** Checks which batches the feed yields, from which cursors, and in which form. */
export async function checkChanges(db) {
  await db.put("before", "v");
  const start = await db.feedCursor();
  const changes = db.changes();
  const users = db.keyspace("users", { keyEncoding: "json", valueEncoding: "binary" });
  const sequence = await db.batch([
    { ...put("a", "1"), expiresAt: 2 ** 45 },
    { type: "delete", key: "b" },
    { type: "deleteRange", gte: "c", lt: "d" },
    { type: "deleteRange", gte: "é" },
    { type: "put", key: ["k"], value: new Uint8Array(300).fill(7), keyspace: users },
  ]);
  const first = await next(changes);
  const bytes = (text) => new TextEncoder().encode(text);
  assert.deepEqual(first, {
    cursor: `${start.slice(0, 17)}${sequence}`,
    sequence,
    operations: [
      operation({ ...put("a", "1"), expiresAt: 2 ** 45 }),
      operation({ type: "delete", key: "b" }),
      operation({ type: "deleteRange", gte: bytes("c"), lt: bytes("d") }),
      operation({ type: "deleteRange", gte: bytes("é"), lt: undefined }),
      operation({ type: "put", key: '["k"]', value: "\u0007".repeat(300) }, "users"),
    ],
  });

  // Many batches, each once and in order, also beyond a page, and again from any cursor.
  const written = [];
  for (let n = 0; n < 60; n++) written.push(await db.put(`n${n}`, "v".repeat(10_000)));
  const read = [];
  while (read.length < written.length) read.push(await next(changes));
  assert.deepEqual(
    read.map((batch) => [batch.sequence, batch.operations[0].key]),
    written.map((sequence, n) => [sequence, `n${n}`]),
  );
  const again = db.changes({ since: first.cursor });
  assert.deepEqual(await next(again), read[0]);
  const later = db.changes({ since: read[41].cursor });
  assert.deepEqual(await next(later), read[42]);
  await Promise.all([again.return(), later.return()]);

  // What a snapshot does not show follows its cursor.
  const snapshot = db.snapshot();
  const unseen = await db.put("unseen", "v");
  const rest = db.changes({ since: await snapshot.feedCursor() });
  assert.equal((await next(rest)).sequence, unseen);
  snapshot.release();
  assert.equal((await next(changes)).sequence, unseen);

  // A writer that waits for nothing: its batch arrives all the same.
  const waiting = next(rest);
  const buffered = await db.put("buffered", "v", { durability: "buffered" });
  assert.equal((await waiting).sequence, buffered);
  await rest.return();
  await changes.return();
}

/** Checks what filters and encodings leave of batches. */
export async function checkFilters(db) {
  const binary = { keyEncoding: "binary", valueEncoding: "binary" };
  const start = await db.feedCursor();
  const users = db.keyspace("users");
  await db.batch([put("a"), put("b"), { ...put("b"), keyspace: users }]);
  await db.put("outside", "v");
  await db.deleteRange({ gte: "a", lt: "bb" });
  await db.deleteRange({ gte: "x" });
  const some = db.changes({ since: start, keyspace: "default", prefix: "b", ...binary });
  const b = Uint8Array.of(0x62);
  assert.deepEqual((await next(some)).operations, [
    operation({ type: "put", key: b, value: Uint8Array.of(0x76) }),
  ]);
  const range = { type: "deleteRange", gte: b, lt: Uint8Array.of(0x62, 0x62) };
  assert.deepEqual((await next(some)).operations, [operation(range)]);
  // Others move the cursor.
  const progress = await next(some);
  assert.deepEqual(progress, { ...progress, operations: [] });
  assert.equal(progress.cursor, await db.feedCursor());
  await some.return();
  const named = db.changes({ since: start, keyspace: "users", gt: "a", lte: "b" });
  assert.deepEqual((await next(named)).operations, [operation(put("b"), "users")]);
  await named.return();

  for (const options of [
    { limit: 3 },
    { prefix: "b" },
    { since: 17 },
    { since: "17" },
    { since: "1".repeat(100_000) },
    { keyspace: 5 },
    { keyspace: "" },
    { keyspace: "n".repeat(100_000) },
    { keyspace: "users", gte: "b", lt: "a" },
    { keyspace: "users", gt: "a", lt: "a" },
    { keyspace: "users", lt: "" },
    { prefix: "a", gte: "a", keyspace: "users" },
    { valueEncoding: "utf16" },
  ]) {
    const refused = async () => next(db.changes(options));
    await assert.rejects(refused, (error) => {
      assert.equal(error.code, "invalid-argument");
      assert.ok(error.message.length < 400, error.message);
      return true;
    });
  }
}

/** Checks that the removal of a keyspace is a change, and that earlier batches keep its name. */
export async function checkDrops(db) {
  const start = await db.feedCursor();
  const users = db.keyspace("users");
  const changes = db.changes();
  const own = db.changes({ keyspace: "users", prefix: "b" });
  await users.put("a", "1");
  assert.deepEqual((await next(changes)).operations, [operation(put("a", "1"), "users")]);
  const [ownFirst, waiting] = [next(own), next(changes)];
  assert.equal(await db.dropKeyspace("users"), true);
  const removal = [operation({ type: "dropKeyspace" }, "users")];
  assert.deepEqual((await waiting).operations, removal);
  // Another one of the same name.
  await db.keyspace("users").put("b", "2");
  const created = [operation(put("b", "2"), "users")];
  assert.deepEqual((await next(changes)).operations, created);
  const filtered = [(await ownFirst).operations, (await next(own)).operations];
  const shown = filtered.filter((operations) => operations.length > 0);
  assert.deepEqual(shown[0], removal);
  const late = db.changes({ since: start });
  for (const expected of [[operation(put("a", "1"), "users")], removal, created]) {
    assert.deepEqual((await next(late)).operations, expected);
  }
  await Promise.all([changes.return(), own.return(), late.return()]);
}

/** Checks how the feed ends, and from which cursors it cannot continue. */
export async function checkGoneCursors(db, { CursorGoneError }) {
  const start = await db.feedCursor();
  await db.put("a", "v");
  const ahead = start.replace(/\d+$/, "99");
  for (const [since, words] of [
    [ahead, /ahead/],
    ["0123456789abcdef-0", /another lineage/],
  ]) {
    const cursor = await db.feedCursor();
    const refused = async () => next(db.changes({ since }));
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof CursorGoneError && words.test(error.message), error.message);
      assert.equal(error.cursor, cursor);
      return true;
    });
  }
  const aborter = new AbortController();
  const aborted = next(db.changes({ signal: aborter.signal }));
  aborter.abort();
  await assert.rejects(aborted, { code: "aborted" });
  const ended = db.changes();
  const end = ended.next();
  await db.close();
  assert.deepEqual(await end, { done: true, value: undefined });
  for (const options of [{}, { since: start }]) {
    const closed = async () => next(db.changes(options));
    await assert.rejects(closed, { code: "closed" }, JSON.stringify(options));
  }
}

/** Checks that a feed reaches as far back as `feedBytes` keeps logs. */
export async function checkRetention(db) {
  const start = await db.feedCursor();
  let last;
  for (let n = 0; n < 40; n++) {
    last = await db.put(`n${n}`, "v".repeat(50_000));
    if (n % 10 === 9) await db.flush();
  }
  let batches = 0;
  for await (const { sequence } of db.changes({ since: start })) {
    batches += 1;
    if (sequence === last) break;
  }
  assert.equal(batches, 40);
}

/** Checks the form of merges. */
export async function checkMergeChanges(db) {
  const start = await db.feedCursor();
  const counts = db.keyspace("counts");
  await counts.batch([
    { type: "merge", key: "a", add: -2 },
    { type: "merge", key: "b", min: 7n },
    { type: "merge", key: "c", max: 2n ** 62n },
  ]);
  const changes = db.changes({ since: start });
  assert.deepEqual((await next(changes)).operations, [
    operation({ type: "merge", key: "a", add: -2n }, "counts"),
    operation({ type: "merge", key: "b", min: 7n }, "counts"),
    operation({ type: "merge", key: "c", max: 2n ** 62n }, "counts"),
  ]);
  await changes.return();
}

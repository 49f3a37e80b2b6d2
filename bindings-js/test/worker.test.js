/** The worker's own code with the real engine and a store in memory, run in this thread. */

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { ALL, bundle, LEAN, native } from "./built.js";
import { settle, unpackReplies } from "./page.js";
import * as feed from "./changes.js";
import { checkConditions, MISTAKES as CONDITIONS } from "./conditions.js";
import { checkEncodings, checkMistakes } from "./encodings.js";
import { checkExpiry } from "./expiry.js";
import { checkMerges, checkMergesWithinTransaction } from "./merges.js";
import { checkQuestions, MISTAKES } from "./questions.js";
import * as ranges from "./ranges.js";
import { checkLive, checkWatches } from "./watches.js";
import { checkTransactions } from "./transactions.js";
const { ConflictError, CursorGoneError, InvalidArgumentError, MAX_VALUE_BYTES, open } =
  await import(bundle("index.js"));

let loaded = 0;

/** A worker that runs in this thread; none for the addon, which has a thread. `sent` may change what it posts. */
async function here(sent = () => undefined) {
  if (native) return undefined;
  const worker = { messages: [], terminate() {} };
  globalThis.self = {
    postMessage(replies, transfer) {
      sent(unpackReplies(replies));
      const data = structuredClone(replies, { transfer });
      worker.messages.push(unpackReplies(data));
      setImmediate(() => worker.onmessage({ data }));
    },
  };
  await import(`../dist/worker.js?${loaded++}`);
  const scope = globalThis.self;
  worker.postMessage = (requests, transfer) => {
    const [{ op }] = requests;
    // A module cannot be cloned here.
    const data = op === "open" ? requests : structuredClone(requests, { transfer });
    setImmediate(() => {
      globalThis.self = scope;
      scope.onmessage({ data });
    });
  };
  return worker;
}

async function store(context, worker, options) {
  const how = native ? {} : { worker: () => worker };
  const db = await open("here", { storage: "memory", ...LEAN, ...how, ...options });
  context.after(() => db.close());
  return db;
}

test("the watches that a batch changes get one message", { skip: native }, async (context) => {
  const worker = await here();
  const db = await store(context, worker);
  const changes = ["a", "b", "c"].map((prefix) => db.watch({ prefix }).next());
  await db.get("k");
  await db.batch(["a", "b", "c"].map((key) => ({ type: "put", key, value: "v" })));
  await Promise.all(changes);
  const isChange = ({ value }) => value?.sequence !== undefined;
  const answers = worker.messages.filter((replies) => replies.some(isChange));
  assert.deepEqual(
    answers.map((replies) => replies.length),
    [3],
  );
});

test(
  "a hundred thousand requests of one turn all get a reply",
  { skip: native },
  async (context) => {
    const worker = await here();
    const db = await store(context, worker);
    await db.put("k", "v");
    for (let n = 0; n < 65_000; n++) db.snapshot().release();
    assert.equal(await db.get("k"), "v");
    assert.equal(worker.messages.flat().length, 130_003);
  },
);

test("a lookup finds its value alone and with others of its turn", async (context) => {
  const db = await store(context, await here());
  const rows = ["a", "schl\u00fcssel", "\u9375", "long".repeat(300)].map((key) => [
    key,
    `\ufeff${key}\u20ac`,
  ]);
  rows.push(["plain", "text"], ["none", ""], ["1 0 0 1 a b", " 7 8\n"]);
  for (const [key, value] of rows) await db.put(key, value);
  for (const [key, value] of rows) {
    assert.equal(await db.get(key), value);
    assert.deepEqual(
      await db.get(key, { valueEncoding: "binary" }),
      new TextEncoder().encode(value),
    );
    const together = [db.get(key), db.get("missing"), db.getMany([key, "a"]), db.get(key)];
    const expected = [value, undefined, [value, rows[0][1]], value];
    assert.deepEqual(await Promise.all(together), expected);
  }
  assert.equal(await db.get("missing"), undefined);
  await db.put("number", "1");
  assert.equal(await db.get("number", { valueEncoding: "json" }), 1);
  const reason = {
    code: "invalid-argument",
    message: /^value of "a": expected JSON, found 7 bytes/,
  };
  await assert.rejects(db.get("a", { valueEncoding: "json" }), reason);
});

test("a lone lookup reads its own keyspace and snapshot", async (context) => {
  const db = await store(context, await here());
  const users = db.keyspace("users");
  await db.put("k", "default");
  await users.put("k", "1 old");
  const before = db.snapshot();
  await users.put("k", "2 new");
  const then = before.keyspace(users);
  const read = [
    await users.get("k"),
    await then.get("k"),
    await db.get("k"),
    await before.get("k"),
  ];
  assert.deepEqual(read, ["2 new", "1 old", "default", "default"]);
  before.release();
  await assert.rejects(then.get("k"), { code: "closed" });
});

test("a call of another release fails by its name alone", { skip: native }, async (context) => {
  const worker = await here();
  const db = await store(context, worker);
  await db.put("k", "v");
  worker.postMessage([{ id: 1001, op: "fly" }]);
  worker.postMessage([{ id: 1002, op: "call", method: "fly", args: [] }]);
  assert.equal(await db.get("k"), "v");
  const replies = worker.messages.flat().filter(({ id }) => id > 1000);
  assert.deepEqual(
    replies.map(({ id, error: { code } }) => [id, code]),
    [
      [1001, "unavailable"],
      [1002, "unavailable"],
    ],
  );
  for (const { error } of replies) assert.match(error.message, /without "fly"/);
});

test("a lone get returns bytes that are not text as a get of many does", async (context) => {
  const db = await store(context, await here());
  const raw = { valueEncoding: "binary" };
  const broken = [[0x80], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]].map((bytes) =>
    Uint8Array.from(bytes),
  );
  // Each also where a decoder reads it rather than single characters.
  const long = broken.map((bytes) =>
    Uint8Array.from([...new Uint8Array(300).fill(0x61), ...bytes]),
  );
  const edge = new Uint8Array(256).fill(0x61);
  edge[255] = 0xff;
  const read = async (get) => {
    try {
      return { value: await get() };
    } catch ({ name, code, message, cause }) {
      return { name, code, message, cause: String(cause) };
    }
  };
  for (const value of [...broken, ...long, edge]) {
    await db.put("\u{1f600}\0", value, raw);
    for (const valueEncoding of ["utf8", "json", "binary", { encode: String, decode: String }]) {
      const alone = await read(() => db.get("\u{1f600}\0", { valueEncoding }));
      const many = await read(
        async () => (await db.getMany(["\u{1f600}\0"], { valueEncoding }))[0],
      );
      assert.deepEqual(alone, many);
    }
    assert.deepEqual(await db.get("\u{1f600}\0", raw), value);
  }
});

test("keys are found, ranges have ends, and a range is cleared", async (context) => {
  await checkQuestions(await store(context, await here()));
});

test("a mistaken question names what is wrong", async (context) => {
  const db = await store(context, await here());
  await db.put("k", "v");
  for (const [call, message] of MISTAKES) {
    await assert.rejects(call(db), { code: "invalid-argument", message }, String(call));
  }
  assert.equal(await db.get("k"), "v");
});

test("a prefix stands for the keys that start with it", async (context) => {
  await ranges.checkPrefixes(await store(context, await here()));
});

test("a cursor moves both ways over one moment", async (context) => {
  await ranges.checkCursors(await store(context, await here()));
});

test("a clear counts what it deletes, up to its limit", async (context) => {
  await ranges.checkClears(await store(context, await here()));
});

test("a watch yields what has changed, once a turn", async (context) => {
  await checkWatches(await store(context, await here()));
});

test("a query runs again when what it has read changes", async (context) => {
  await checkLive(await store(context, await here()));
});

test("the feed yields each batch once it is durable", async (context) => {
  await feed.checkChanges(await store(context, await here()));
});

test("a filter of changes passes only requested operations", async (context) => {
  await feed.checkFilters(await store(context, await here()));
});

test("the removal of a keyspace is a change of the feed", async (context) => {
  await feed.checkDrops(await store(context, await here()));
});

test("a cursor from which the feed cannot continue is refused", async (context) => {
  await feed.checkGoneCursors(await store(context, await here()), { CursorGoneError });
});

test("the feed has merges as they were written", async (context) => {
  await feed.checkMergeChanges(await store(context, await here(), ALL));
});

test("logs are kept for the feed", async (context) => {
  await feed.checkRetention(
    await store(context, await here(), { feedBytes: 64 << 20, memtableBytes: 64 << 10 }),
  );
});

test("keys and values have the encodings of their keyspace", async (context) => {
  await checkEncodings(await store(context, await here()));
});

test("a mistake of an encoding names what is wrong", async (context) => {
  await checkMistakes(await store(context, await here()));
});

test("a mistaken range names what is wrong", async (context) => {
  const db = await store(context, await here());
  for (const [call, message] of ranges.MISTAKES) {
    await assert.rejects(async () => call(db), { code: "invalid-argument", message }, call);
  }
});

test("a batch is written only if its conditions hold", async (context) => {
  await checkConditions(await store(context, await here()), ConflictError);
});

test("a value is there until it expires", async (context) => {
  await checkExpiry(await store(context, await here()), { ConflictError, InvalidArgumentError });
});

test("a merge changes a value that nobody reads", async (context) => {
  const db = await store(context, await here(), ALL);
  await checkMerges(db, { InvalidArgumentError });
  const other = await store(context, await here(), ALL);
  await checkMergesWithinTransaction(other, async (tx) => {
    const rows = [];
    for await (const row of tx.entries({ reverse: true })) rows.push(row);
    return [await tx.getMany(["a", "b"]), rows];
  });
});

test("a mistaken condition names what is wrong", async (context) => {
  const db = await store(context, await here());
  for (const [options, message] of CONDITIONS) {
    const call = db.batch([{ type: "put", key: "k", value: "v" }], options);
    await assert.rejects(call, { code: "invalid-argument", message }, JSON.stringify(options));
  }
  assert.equal(await db.get("k"), undefined);
});

test("a transaction sees its own writes and leaves all or nothing", async (context) => {
  const transact = (db, body) =>
    db.transact(async (tx) => {
      const steps = body(tx);
      let step = steps.next();
      while (!step.done) step = steps.next(await step.value);
      return step.value;
    });
  await checkTransactions(await store(context, await here()), transact);
});

test("transactions that overlap take effect one after another", async (context) => {
  const db = await store(context, await here());
  await db.put("count", "0");
  // Each reads the count before any of the first round commits.
  const increment = (n) =>
    db.transact(async (tx) => {
      const count = Number(await tx.get("count"));
      for await (const [key] of tx.entries({ gte: "by ", lt: "by~" })) assert.match(key, /^by /);
      tx.put("count", `${count + 1}`);
      tx.put(`by ${n}`, "");
      return count;
    });
  const counts = await Promise.all([0, 1, 2].map(increment));
  assert.deepEqual(counts.sort(), [0, 1, 2]);
  assert.equal(await db.get("count"), "3");
  assert.equal(await db.count(), 4);

  // An entry that a scan did not reach is no conflict; one that it missed is.
  let runs = 0;
  const first = await db.transact(async (tx) => {
    runs += 1;
    let entry;
    for await (entry of tx.entries({ limit: 1 }));
    if (runs === 1) await db.put("by 9", "");
    tx.put("z", "");
    return entry;
  });
  assert.deepEqual([runs, first], [1, ["by 0", ""]]);
  const last = await db.transact(async (tx) => {
    runs += 1;
    let key;
    for await ([key] of tx.entries({ reverse: true, limit: 1 }));
    if (runs === 2) await db.put("zz", "");
    tx.put("a", "");
    return key;
  });
  assert.deepEqual([runs, last], [3, "zz"]);
});

test("gets of one turn are served whatever the size of their values", async (context) => {
  const db = await store(context, await here());
  await db.put("k", new Uint8Array(MAX_VALUE_BYTES));
  const keys = Array(5).fill("k");
  const binary = { valueEncoding: "binary" };
  await assert.rejects(db.getMany(keys, binary), InvalidArgumentError);
  const lengths = await Promise.all(keys.map(async (key) => (await db.get(key, binary)).length));
  assert.deepEqual(lengths, Array(5).fill(MAX_VALUE_BYTES));
});

test("sequence numbers grow with each batch", async (context) => {
  const db = await store(context, await here());
  const [one, other] = await Promise.all([db.put("a", "1"), db.delete("a")]);
  assert.equal(one, other);
  const operations = ["b", "c"].map((key) => ({ type: "put", key, value: "v" }));
  const synced = await db.batch(operations, { durability: "sync" });
  assert.ok(Number.isSafeInteger(synced) && synced > one, `${synced} after ${one}`);
  assert.equal(await db.batch([]), synced);
  assert.equal((await db.stats()).lastSequence, synced);
});

test("a reply that cannot be cloned fails only its call", { skip: native }, async (context) => {
  const worker = await here((replies) => {
    for (const { value, error } of replies) {
      if (typeof value === "string" && value.includes("memtable_bytes"))
        throw new Error("no clone");
      if (error?.cause === undefined && error?.message.includes("no keyspace")) {
        error.cause = () => "not cloned";
      }
    }
  });
  const db = await store(context, worker);
  const calls = [db.put("k", "v"), db.stats(), db.get("k")];
  const missing = db.keyspace("none", { create: false }).get("k");
  const settled = await Promise.allSettled([...calls, missing]);
  assert.deepEqual(
    settled.map(({ value, reason }) => reason?.code ?? value),
    [settled[0].value, "io", "v", "not-found"],
  );
});

test("events are sent along with replies, in few messages", { skip: native }, async (context) => {
  const worker = await here();
  const db = await store(context, worker, { memtableBytes: 64 << 10 });
  const events = db.events();
  const put = (_, n) => ({ type: "put", key: `${n}`, value: "x".repeat(1000) });
  for (let round = 0; round < 20; round++) await db.batch(Array.from({ length: 50 }, put));
  await db.flush();
  const heard = worker.messages.flat().filter(({ id }) => id === 0);
  const count = heard.reduce((sum, { value }) => sum + value.length, 0);
  assert.ok(count > 2 * heard.length, `${count} events in ${heard.length} messages`);
  const types = [];
  for (let n = 0; n < count; n++) types.push((await events.next()).value.type);
  assert.ok(types.includes("flushed"));
  await events.return();
});

test("suspending the page syncs, then aborts long calls", { skip: native }, async (context) => {
  const worker = await here();
  const db = await store(context, worker);
  const value = new Uint8Array(1 << 20).map((_, n) => n * n * n);
  for (let n = 0; n < 8; n++) await db.put(`${n}`, value);
  await db.flush();
  worker.messages.length = 0;
  worker.postMessage([
    { id: 1001, op: "call", method: "check", args: [] },
    { id: 1002, op: "call", method: "compact_range", args: [0, new Uint8Array([0, 0])] },
    { id: 1003, op: "write", batch: new Uint8Array([1, 0, 1, 97, 1, 98]), sync: true },
  ]);
  worker.postMessage([{ id: 1004, op: "suspend" }]);
  const received = () => worker.messages.flat().filter(({ id }) => id > 1000);
  while (!received().some(({ id }) => id === 1004)) await settle();
  const replies = received();
  assert.deepEqual(
    replies.map(({ id, error }) => [id, error?.code]),
    [
      [1003, undefined],
      [1001, "aborted"],
      [1002, "aborted"],
      [1004, undefined],
    ],
  );
});

test("a call fails alone, whatever its message carries", { skip: native }, async (context) => {
  const worker = await here();
  const db = await store(context, worker);
  const gone = db.keyspace("cache");
  await gone.put("a", "b");
  await db.dropKeyspace("cache");
  const none = db.keyspace("none", { create: false });
  const before = worker.messages.length;
  const across = [
    { type: "put", key: "torn", value: "v" },
    { type: "put", key: "torn", value: "v", keyspace: gone },
  ];
  const settled = await Promise.allSettled([
    db.put("first", "1"),
    gone.put("x", "y"),
    db.batch(across),
    none.put("x", "y"),
    db.put("last", "2"),
    db.put("synced", "3", { durability: "sync" }),
    gone.delete("x", { durability: "sync" }),
    db.getMany(["first", "torn", "last", "synced"]),
  ]);
  const codes = settled.map(({ reason }) => reason?.code);
  const [ok, closed] = [undefined, "closed"];
  assert.deepEqual(codes, [ok, closed, closed, "not-found", ok, ok, closed, ok]);
  assert.deepEqual(settled.at(-1).value, ["1", undefined, "2", "3"]);
  assert.ok(settled[0].value < settled[4].value && settled[4].value < settled[5].value);
  // Together: the reply that waits for its sync, and one message for all others.
  assert.equal(worker.messages.length, before + 2);
});

test("calls of a batch's own iterator keep their order", async (context) => {
  const db = await store(context, await here());
  const calls = [];
  const operations = (end) =>
    (function* () {
      // One object for all operations, as loops reuse them.
      const operation = { type: "put", key: "a", value: end };
      yield operation;
      calls.push(db.put("b", "2"), db.get("a"), db.put("c", "3"));
      yield Object.assign(operation, { key: end, value: "4" });
      if (end === "bad") throw new RangeError("no more");
    })();
  // A put of the same turn, whose message the batch joins.
  calls.push(db.put("0", "0"));
  await db.batch(operations("good"));
  assert.equal((await Promise.all(calls))[2], undefined);
  assert.deepEqual(await db.getMany(["a", "b", "c", "good"]), ["good", "2", "3", "4"]);
  await db.batch(["a", "b", "c"].map((key) => ({ type: "delete", key })));
  calls.push(db.put("0", "1"));
  await assert.rejects(db.batch(operations("bad")), RangeError);
  await Promise.all(calls);
  assert.deepEqual(await db.getMany(["a", "b", "c", "bad"]), [undefined, "2", "3", undefined]);
});

test("entries before one that is not text reach the page", async (context) => {
  const db = await store(context, await here());
  await Promise.all([db.put("a", "1"), db.put("b", "2"), db.put(Uint8Array.of(0x63, 0xff), "3")]);
  for (const [iteration, rows] of [
    [() => db.keys(), ["a", "b"]],
    [
      () => db.entries(),
      [
        ["a", "1"],
        ["b", "2"],
      ],
    ],
  ]) {
    const seen = [];
    const failing = async () => {
      for await (const row of iteration()) seen.push(row);
    };
    await assert.rejects(failing, { code: "invalid-argument", message: /expected UTF-8/ });
    assert.deepEqual(seen, rows);
  }
});

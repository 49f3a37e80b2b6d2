/** The synchronous store, in memory: the engine itself, without a browser. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL, bundle, LEAN, native } from "./built.js";
import * as feed from "./changes.js";
import { checkConditions, MISTAKES as CONDITIONS } from "./conditions.js";
import { checkEncodings, checkMistakes } from "./encodings.js";
import { checkExpiry } from "./expiry.js";
import { checkMerges, checkMergesWithinTransaction } from "./merges.js";
import { checkQuestions, MISTAKES } from "./questions.js";
import * as ranges from "./ranges.js";
import { checkLive, checkWatches } from "./watches.js";
import { checkTransactions } from "./transactions.js";

const {
  ClosedError,
  ConflictError,
  CursorGoneError,
  InvalidArgumentError,
  MAX_VALUE_BYTES,
  NotFoundError,
  open,
  UnavailableError,
} = await import(bundle("sync.js"));

/** Opens a store that is closed at the test's end. */
async function store(context, options) {
  const db = await open("test", { storage: "memory", ...LEAN, ...options });
  context.after(() => db.close());
  return db;
}

const numbered = (n) => String(n).padStart(5, "0");
const rows = (count) =>
  Array.from({ length: count }, (_, i) => ({
    type: "put",
    key: numbered(i),
    value: numbered(i).repeat(20),
  }));

test("a write is visible to the next read", async (context) => {
  const db = await store(context);
  db.put("k", "é");
  db.put("", new Uint8Array());
  db.delete("none");
  assert.deepEqual(db.getMany(["k", "", "none"]), ["é", "", undefined]);
  assert.deepEqual(db.get("k", { valueEncoding: "binary" }), new TextEncoder().encode("é"));
  db.delete("k");
  assert.equal(db.get("k"), undefined);
});

test("keys are found, ranges have ends, and a range is cleared", async (context) => {
  await checkQuestions(await store(context));
});

test("a copy to another name takes a browser", { skip: native }, async (context) => {
  const db = await store(context);
  await assert.rejects(db.checkpoint("copy"), { code: "unavailable", message: /terrane-node/ });
});

test("a mistaken question names what is wrong", async (context) => {
  const db = await store(context);
  db.put("k", "v");
  for (const [call, message] of MISTAKES) {
    assert.throws(() => call(db), { code: "invalid-argument", message }, call);
  }
  assert.equal(db.get("k"), "v");
});

test("a prefix stands for the keys that start with it", async (context) => {
  await ranges.checkPrefixes(await store(context));
});

test("a cursor moves both ways over one moment", async (context) => {
  await ranges.checkCursors(await store(context));
});

test("a clear counts what it deletes, up to its limit", async (context) => {
  await ranges.checkClears(await store(context));
});

test("a watch yields what has changed, once a turn", async (context) => {
  await checkWatches(await store(context));
});

test("a query runs again when what it has read changes", async (context) => {
  await checkLive(await store(context));
});

test("the feed yields each batch once it is durable", async (context) => {
  await feed.checkChanges(await store(context));
});

test("a filter of changes passes only requested operations", async (context) => {
  await feed.checkFilters(await store(context));
});

test("the removal of a keyspace is a change of the feed", async (context) => {
  await feed.checkDrops(await store(context));
});

test("a cursor from which the feed cannot continue is refused", async (context) => {
  await feed.checkGoneCursors(await store(context), { CursorGoneError });
});

test("the feed has merges as they were written", async (context) => {
  await feed.checkMergeChanges(await store(context, ALL));
});

test("logs are kept for the feed", async (context) => {
  await feed.checkRetention(await store(context, { feedBytes: 64 << 20, memtableBytes: 64 << 10 }));
});

test("keys and values have the encodings of their keyspace", async (context) => {
  await checkEncodings(await store(context));
});

test("a mistake of an encoding names what is wrong", async (context) => {
  await checkMistakes(await store(context));
});

test("a mistaken range names what is wrong", async (context) => {
  const db = await store(context);
  for (const [call, message] of ranges.MISTAKES) {
    await assert.rejects(async () => call(db), { code: "invalid-argument", message }, call);
  }
});

test("a batch is written only if its conditions hold", async (context) => {
  await checkConditions(await store(context), ConflictError);
});

test("a value is there until it expires", async (context) => {
  await checkExpiry(await store(context), { ConflictError, InvalidArgumentError });
});

test("a merge changes a value that nobody reads", async (context) => {
  await checkMerges(await store(context, ALL), { InvalidArgumentError });
  await checkMergesWithinTransaction(await store(context, ALL), (tx) => [
    tx.getMany(["a", "b"]),
    [...tx.entries({ reverse: true })],
  ]);
});

test("the lean build names the one that has merges", { skip: native }, async (context) => {
  const db = await store(context);
  const message = /^only the build with all policies has merges: .* policies: "all"$/;
  assert.throws(() => db.merge("a", { add: 1 }), { code: "invalid-argument", message });
  assert.equal(db.get("a"), undefined);
});

test("a mistaken condition names what is wrong", async (context) => {
  const db = await store(context);
  for (const [options, message] of CONDITIONS) {
    const call = () => db.batch([{ type: "put", key: "k", value: "v" }], options);
    assert.throws(call, { code: "invalid-argument", message }, JSON.stringify(options));
  }
  assert.equal(db.get("k"), undefined);
});

test("a transaction sees its own writes and leaves all or nothing", async (context) => {
  const transact = async (db, body) =>
    db.transact((tx) => {
      const steps = body(tx);
      let step = steps.next();
      while (!step.done) step = steps.next(step.value);
      return step.value;
    });
  const db = await store(context);
  await checkTransactions(db, transact);
  const promising = () => db.transact(async (tx) => tx.put("c", "late"));
  assert.throws(promising, { code: "invalid-argument", message: /no promise, found Promise$/ });
  assert.equal(db.get("c"), "new");
  // A write of the body's own, beside its transaction, is a conflict each time.
  let runs = 0;
  const overtaken = () =>
    db.transact((tx) => {
      tx.get("c");
      db.put("c", `${(runs += 1)}`);
      tx.put("d", "");
    });
  assert.throws(overtaken, ConflictError);
  assert.deepEqual([runs, db.get("c"), db.get("d")], [10, "10", "D"]);
});

test("reads beyond a bound are joined, and none is missed", async (context) => {
  const db = await store(context);
  db.batch(rows(300));
  const keys = Array.from({ length: 12_000 }, (_, n) => `k${String(n).padStart(5, "0")}`);
  for (const [written, runs] of [
    [keys[0], 2],
    [keys[6001], 2],
    [keys[11_999], 2],
    [numbered(150), 2], // by the iteration, which goes on after it was joined
    ["z", 1],
  ]) {
    let run = 0;
    db.transact((tx) => {
      run += 1;
      const iteration = tx.entries({ lt: "k" });
      iteration.next();
      tx.getMany(keys);
      for (let n = 0; n < 200; n++) iteration.next();
      if (run === 1) db.put(written, `${run}`);
      tx.put("own", "");
    });
    assert.equal(run, runs, written);
  }
});

test("sequence numbers grow with each batch", async (context) => {
  const db = await store(context);
  const first = db.put("a", "1");
  assert.ok(db.delete("a") > first);
  const last = db.batch(rows(3));
  assert.equal(db.batch([]), last);
  assert.equal(db.stats().lastSequence, last);
});

test("keys and values of any size are read from module memory", async (context) => {
  const db = await store(context, { valueEncoding: "binary" });
  const long = "k".repeat(65_535);
  const large = new Uint8Array(3 << 20).fill(7);
  db.put("small", "v");
  db.put(long, large);
  const small = db.get("small");
  // The module's memory grows for these, and moves.
  assert.deepEqual(db.get(long), large);
  assert.deepEqual(db.get(new TextEncoder().encode(long)), large);
  assert.equal(db.get("é".repeat(30_000)), undefined);
  assert.deepEqual(db.get("small"), new TextEncoder().encode("v"));
  assert.equal(db.get(""), undefined);
  assert.throws(() => db.get("é".repeat(40_000)), InvalidArgumentError);
  assert.throws(() => db.get(1), InvalidArgumentError);
  // A value is the caller's alone.
  assert.equal(small.buffer.byteLength, 1);
  small[0] = 0;
  assert.equal(db.get("small", { valueEncoding: "utf8" }), "v");
});

test("a get from a closed store writes to no freed memory", async (context) => {
  const closed = await open("closed", { storage: "memory", ...LEAN });
  closed.get("k".repeat(4000));
  closed.close();
  const db = await store(context);
  const rest = "r".repeat(3990);
  for (let i = 0; i < 1000; i++) db.put(numbered(i), rest);
  for (let i = 0; i < 1000; i++) {
    assert.throws(() => closed.get("x".repeat(4000)), ClosedError);
    assert.equal(db.get(numbered(i)), rest);
  }
});

test("cache and memtable sizes take effect", async (context) => {
  const db = await store(context, { cacheBytes: 32 << 20, memtableBytes: 16 << 20 });
  const value = new Uint8Array(10_000).map((_, i) => i * i);
  for (let i = 0; i < 1000; i++) db.put(numbered(i), value);
  db.flush();
  for (let i = 0; i < 1000; i++) db.get(numbered(i), { valueEncoding: "binary" });
  const { blocks, blocksCached } = db.stats().gets;
  assert.equal(blocksCached, blocks);
});

test("filters have the bits that the options say, in fractions", async (context) => {
  const db = await store(context, { filterBits: 9.5 });
  db.batch(rows(1000));
  db.flush();
  const tables = db.levels().flatMap((level) => level.runs.flatMap((run) => run.tables));
  assert.deepEqual(
    tables.map((table) => table.filterBits),
    tables.map(() => 9.5),
  );
  for (let i = 0; i < 1000; i++) assert.equal(db.get(`${numbered(i)}+`), undefined);
  const [{ filterBytes, filterLookups, filterPositives, filterFalsePositives }] =
    db.stats().keyspaces[0].levels;
  assert.equal(filterBytes, tables[0].filterBytes);
  assert.ok(filterBytes >= (1000 * 9.5) / 8 && filterBytes < (1000 * 9.5) / 8 + 64);
  assert.ok(filterLookups > 900 && filterPositives < filterLookups / 20);
  assert.equal(filterPositives, filterFalsePositives);
  for (const filterBits of [-1, 64.1, NaN, "10"]) {
    await assert.rejects(store(context, { filterBits }), { code: "invalid-argument" });
  }
});

test("iterations yield entries, keys or values, in both directions", async (context) => {
  const db = await store(context);
  db.batch(rows(5000));
  db.flush();
  const keys = [...db.keys()];
  assert.deepEqual(
    keys,
    Array.from({ length: 5000 }, (_, i) => numbered(i)),
  );
  assert.deepEqual([...db.keys({ gt: "00010", lte: "00012" })], ["00011", "00012"]);
  const last = [...db.entries({ reverse: true, limit: 1 })];
  assert.deepEqual(last, [["04999", "04999".repeat(20)]]);
  assert.deepEqual([...db.values({ lt: "00001" })], ["00000".repeat(20)]);
  assert.equal(db.count({ gte: "00100", lt: "00200" }), 100);
  for (const key of db.keys()) if (key === "00003") break;
  for (const [key, value] of db.entries()) assert.equal(value, key.repeat(20));
});

test("a batch over keyspaces is atomic, with keys of their own", async (context) => {
  const db = await store(context, { policy: { policy: "tiered", sizeRatio: 3 } });
  const users = db.keyspace("users", { policy: "universal", valueEncoding: "binary" });
  db.batch([
    { type: "put", key: "k", value: "default" },
    { type: "put", key: "k", value: "user", keyspace: users },
  ]);
  users.batch([
    { type: "put", key: "other", value: "x" },
    { type: "delete", key: "k", keyspace: db },
  ]);
  assert.equal(db.get("k"), undefined);
  assert.deepEqual(users.get("k"), new TextEncoder().encode("user"));
  assert.deepEqual(db.keyspaces().sort(), ["default", "users"]);
  assert.equal(db.policy().sizeRatio, 3);
  assert.equal(users.policy().policy, "universal");
  users.setPolicy("leveled");
  assert.equal(db.keyspace("users").policy().policy, "leveled");
  assert.throws(() => db.keyspace("none", { create: false }), NotFoundError);
  assert.throws(() => users.setPolicy({ policy: "leveled", sizeRatio: 1 }), InvalidArgumentError);
  assert.throws(
    () => users.setPolicy("best"),
    /^InvalidArgumentError: policy: expected leveled, .*, found unknown policy "best"$/,
  );

  const other = await store(context);
  assert.throws(
    () => db.batch([{ type: "delete", key: "k", keyspace: other }]),
    /batch: expected keyspaces of this store, found Db$/,
  );
  assert.ok(db.dropKeyspace("users"));
  assert.ok(!db.dropKeyspace("users"));
  assert.throws(() => users.get("k"), ClosedError);
  assert.equal(db.keyspace("users").get("k"), undefined);
});

test("a snapshot shows all keyspaces until it is released", async (context) => {
  const db = await store(context);
  const users = db.keyspace("users");
  db.put("k", "old");
  users.put("k", "old");
  const snapshot = db.snapshot();
  db.put("k", "new");
  users.delete("k");
  db.flush();
  db.compactRange();
  assert.deepEqual([...snapshot.entries()], [["k", "old"]]);
  assert.equal(snapshot.keyspace(users).get("k"), "old");
  assert.equal(users.get("k"), undefined);
  snapshot.release();
  snapshot.release();
  assert.throws(() => snapshot.get("k"), ClosedError);
});

test("levels, sizes and statistics agree about the tables", async (context) => {
  const db = await store(context);
  db.batch(rows(20_000));
  db.flush();
  db.compactRange();
  const tables = db.levels().flatMap((level) => level.runs.flatMap((run) => run.tables));
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  assert.equal(
    tables.reduce((sum, table) => sum + table.entries, 0),
    20_000,
  );
  assert.deepEqual(tables[0].smallest, new TextEncoder().encode("00000"));
  assert.equal(db.approximateSize(), bytes);
  const half = db.approximateSize({ lt: "10000" });
  assert.ok(half > 0.4 * bytes && half < 0.6 * bytes, `${half} of ${bytes}`);
  const [stats] = db.stats().keyspaces;
  assert.equal(
    stats.levels.reduce((sum, level) => sum + level.bytes, 0),
    bytes,
  );
  assert.deepEqual(db.check().damage, []);
  assert.equal(db.check().quarantineBytes, 0);
  assert.equal(db.stats().discardedBytes, 0);
  assert.equal(db.dropQuarantine(), 0);
});

test("a trace shows where a get looked and what it found", async (context) => {
  const db = await store(context, ALL);
  db.batch(rows(1000));
  db.flush();
  const snapshot = db.snapshot();
  db.delete("00001");
  const steps = (trace) => trace.steps.map(({ step }) => step);
  assert.deepEqual(steps(db.trace("00001")), ["memtable", "tombstone"]);
  const found = snapshot.trace("00001");
  assert.equal(steps(found)[0], "memtable");
  assert.deepEqual(steps(found).slice(-2), ["block", "value"]);
  assert.equal(found.steps.at(-1).bytes, 100);
  assert.equal(found.counts.blocks, 1);
  assert.equal(db.trace("none").steps.find(({ step }) => step === "run").table, null);
  snapshot.release();
  const bytes = (text) => new TextEncoder().encode(text);
  const scanned = db.traceScan({ lt: "00003", reverse: true });
  assert.deepEqual(scanned.steps.at(-1), { step: "row", key: bytes("00002"), bytes: 100 });
  const stands = db.traceScan({ gte: "00001" }).steps.filter(({ step }) => step === "stands");
  assert.deepEqual(stands, [
    { step: "stands", key: bytes("00001") },
    { step: "stands", key: bytes("00001") },
  ]);
  assert.throws(() => db.traceScan({ gt: "a", gte: "a" }), { code: "invalid-argument" });
});

test("events are delivered while there is a listener", async (context) => {
  const db = await store(context);
  const users = db.keyspace("users");
  users.put("unheard", "x");
  db.flush();
  const events = db.events();
  const first = events.next();
  users.put("k", "v");
  db.flush();
  const seen = [(await first).value];
  while (seen.at(-1).type !== "flushed") seen.push((await events.next()).value);
  const { keyspace, tables } = seen.at(-1);
  assert.deepEqual([keyspace, tables.length, tables[0].entries], ["users", 1, 1]);
  assert.deepEqual(tables[0].smallest, new TextEncoder().encode("k"));
  const waiting = events.next();
  db.close();
  while (!(await waiting).done && !(await events.next()).done);
});

test("a forgotten snapshot is reported and released", async (context) => {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  const warnings = [];
  context.mock.method(console, "warn", (text) => warnings.push(text));
  const db = await store(context);
  const events = db.events();
  const found = events.next();
  (() => db.snapshot().get("k"))();
  const collect = setInterval(gc, 10);
  assert.equal((await found).value.type, "snapshot-forgotten");
  clearInterval(collect);
  await events.return();
  assert.match(warnings[0], /a snapshot of store "test" was never released/);
});

test("a store in memory exports to a file", async (context) => {
  const db = await store(context);
  db.batch(rows(1000));
  const bytes = await new Response(await db.export()).bytes();
  assert.ok(bytes.length > 10_000);
});

test("invalid calls fail with their class and have no effect", async (context) => {
  const db = await store(context);
  const rejected = (body) => assert.throws(body, InvalidArgumentError);
  rejected(() => db.put(1, "v"));
  rejected(() => db.put("k"));
  rejected(() => db.put("k".repeat(65_536), "v"));
  rejected(() => db.put("\ud800", "v"));
  rejected(() => db.put("k", "v", { durability: "later" }));
  rejected(() => db.get(undefined));
  rejected(() => db.getMany(7));
  rejected(() => db.getMany("abc"));
  rejected(() => db.snapshot().keyspace({}));
  const large = new Uint8Array(MAX_VALUE_BYTES);
  rejected(() => db.batch(["a", "b", "half"].map((key) => ({ type: "put", key, value: large }))));
  rejected(() => db.batch([{ type: "put", key: "half", value: "v" }, { type: "move" }]));
  rejected(() => db.entries({ gt: "a", gte: "a" }).next());
  rejected(() => db.entries({ limit: 1.5 }).next());
  rejected(() => db.get("k", { valueEncoding: "hex" }));
  rejected(() => db.keyspace(""));
  rejected(() => db.dropKeyspace("default"));
  db.put("bytes", new Uint8Array([0xff]));
  rejected(() => db.get("bytes"));
  assert.equal(db.get("half"), undefined);
  await assert.rejects(open("a", { storage: "disk" }), /storage: expected "[a-z]+" or "memory"/);
});

test("outside a browser no store on files is opened", { skip: native }, async () => {
  await assert.rejects(open("a/b", { storage: "memory" }), InvalidArgumentError);
  await assert.rejects(open("a", LEAN), UnavailableError);
});

test("a closed store rejects calls; a batch can read its store", async (context) => {
  const db = await store(context);
  db.put("a", "1");
  db.batch(
    (function* () {
      yield { type: "put", key: "b", value: db.get("a") };
      db.put("c", "3");
      yield { type: "put", key: "d", value: db.get("c") };
    })(),
  );
  assert.deepEqual([...db.keys()], ["a", "b", "c", "d"]);
  const snapshot = db.snapshot();
  db.close();
  db.close();
  snapshot.release();
  for (const call of [
    () => db.get("a"),
    () => db.put("a", "2"),
    () => db.entries().next(),
    () => db.snapshot(),
    () => db.stats(),
  ]) {
    assert.throws(call, ClosedError);
  }
  await assert.rejects(db.export(), ClosedError);
  assert.ok((await db.events().next()).done);
});

test(
  "the two builds run beside each other; the lean one says where the other policies are",
  { skip: native },
  async (context) => {
    const lean = await store(context);
    const rich = await store(context, ALL);
    const message = /^only the build with all policies has binomial: .* policies: "all"$/;
    assert.throws(() => lean.setPolicy("binomial"), { name: "InvalidArgumentError", message });
    const traces = {
      name: "InvalidArgumentError",
      message: /^only .* traces reads: .* policies: "all"$/,
    };
    assert.throws(() => lean.trace("k"), traces);
    assert.throws(() => lean.traceScan(), traces);
    assert.throws(() => lean.keyspace("k", { policy: "binomial" }), InvalidArgumentError);
    const subcompactions = { policy: "leveled", maxSubcompactions: 2 };
    assert.throws(
      () => lean.setPolicy(subcompactions),
      /has leveled with `maxSubcompactions`: open/,
    );
    assert.throws(
      () => lean.setPolicy("lazy-levelled"),
      /policy: expected .*, spooky \(policies: "all" has more\), found unknown policy "lazy-levelled"$/,
    );
    assert.throws(
      () => lean.setPolicy({ policy: "lazy-leveled", size_ratio: 4, levelBaseByte: 9 }),
      /: expected `sizeRatio`, `levelBaseBytes`, .*, found unknown parameter `size_ratio`$/,
    );
    assert.throws(
      () => lean.setPolicy({ policy: "leveled", sizeRatio: "4" }),
      /expected a whole number from 2 to 64, found leveled: `sizeRatio` is "4"$/,
    );
    const monkey = { policy: "leveled", filters: "monkey" };
    assert.throws(
      () => lean.setPolicy(monkey),
      /^InvalidArgumentError: only the build with all policies has leveled with monkey filters/,
    );
    rich.put("a", "1");
    const dynamic = { policy: "vertiorizon", filters: "dynamic", dataBytes: 2 ** 49 };
    assert.throws(
      () => rich.setPolicy(dynamic),
      /expected at most \d+, whose dynamic filters .*, found vertiorizon: `dataBytes` is 562949953421312$/,
    );
    rich.setPolicy({ ...dynamic, dataBytes: 2 ** 28 });
    rich.setPolicy("binomial");
    for (const [db, value] of [
      [lean, "lean"],
      [rich, "rich"],
    ]) {
      db.batch(rows(1000));
      db.put("k", value);
      db.flush();
      assert.equal(db.check().damage.length, 0);
    }
    assert.deepEqual([lean.get("k"), rich.get("k")], ["lean", "rich"]);
    assert.deepEqual([lean.policy().policy, rich.policy().policy], ["leveled", "binomial"]);
    await assert.rejects(open("test", { policies: "some" }), InvalidArgumentError);
  },
);

test("a partitioner that cannot be is refused by name", async (context) => {
  const db = await store(context, ALL);
  const before = db.policy();
  for (const [policy, message] of [
    [
      { policy: "universal", partitioner: "halves" },
      /: expected default or none or size or local-range.*, found universal: `partitioner` is "halves"$/,
    ],
    [
      { policy: "binomial", targetFileBytes: 0 },
      /: expected 1024 to \d+, found binomial: `targetFileBytes` is 0$/,
    ],
    [
      { policy: "tiered", partitioner: "global-range", domainLeast: "6b", domainGreatest: "61" },
      /: expected a key after `domainLeast`: 6b, found tiered: `domainGreatest` is 61$/,
    ],
    [
      { policy: "minlatency", partitioner: "size", targetFileBytes: 2048, flushFloorBytes: 2049 },
      /: expected at most `targetFileBytes`: 2048, found minlatency: `flushFloorBytes` is 2049$/,
    ],
    [
      { policy: "spooky", partitioner: "size" },
      /: expected `sizeRatio`, `levelBaseBytes`, .*, found unknown parameter `partitioner`$/,
    ],
  ]) {
    assert.throws(() => db.setPolicy(policy), { name: "InvalidArgumentError", message });
  }
  assert.deepEqual(db.policy(), before);
});

/** Text of a hundred characters that hardly compresses. */
const noise = (n) =>
  Array.from({ length: 20 }, (_, i) => {
    const word = Math.imul(n * 20 + i + 1, 0x9e37_79b1) >>> 0;
    return word.toString(36).slice(-5).padStart(5, "0");
  }).join("");

test("a store under each partitioner reads back and is cut as it says", async (context) => {
  const small = { memtableBytes: 64 << 10, ...ALL };
  const floor = { flushFloorBytes: 4 << 10 };
  for (const cuts of [
    { partitioner: "none" },
    { partitioner: "size", subcompactions: 1 },
    { partitioner: "local-range", partitionJoinPercent: 50, ...floor },
    { partitioner: "local-range-by-group", subcompactions: 2 },
    { partitioner: "global-range", ...floor },
    { partitioner: "global-range", domainLeast: "30", domainGreatest: "3a", ...floor },
  ]) {
    const policy = { policy: "universal", runTrigger: 2, targetFileBytes: 16 << 10, ...cuts };
    const db = await store(context, { ...small, policy });
    assert.deepEqual({ ...db.policy(), ...policy }, db.policy());
    const expected = new Map();
    for (let n = 0; n < 12; n++) {
      const operations = Array.from({ length: 300 }, (_, i) => {
        const key = numbered((i * 7919 + n * 104_729) % 100_000);
        return { type: "put", key, value: noise(300 * n + i) };
      });
      db.batch(operations);
      db.flush();
      operations.forEach(({ key, value }) => expected.set(key, value));
    }
    const sorted = [...expected].sort(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual([...db.entries()], sorted, cuts.partitioner);
    assert.deepEqual([...db.entries({ reverse: true })], sorted.toReversed());
    assert.deepEqual(db.check().damage, []);
    const [, compacted] = db.levels();
    const [tables] = compacted?.runs.map((run) => run.tables.length) ?? [];
    assert.equal(tables > 1, cuts.partitioner !== "none", `${cuts.partitioner}: ${tables}`);
  }
});

test("both builds make the same of the same history", { skip: native }, async (context) => {
  const small = { memtableBytes: 64 << 10 };
  const targetFileBytes = 16 << 10;
  const levels = { levelBaseBytes: 64 << 10, targetFileBytes };
  for (const policy of [
    { policy: "leveled", ...levels },
    { policy: "leveled-full", ...levels },
    { policy: "tiered", ...levels },
    { policy: "tiered-full", ...levels },
    { policy: "lazy-leveled", ...levels },
    { policy: "universal", targetFileBytes },
    { policy: "spooky", ...levels },
  ]) {
    const trees = [];
    for (const build of [LEAN, ALL]) {
      const db = await store(context, { ...small, ...build, policy });
      for (let n = 0; n < 40; n++) {
        // Keys that jump, so that runs overlap.
        const key = (i) => numbered((i * 7919 + n * 104_729) % 100_000);
        const put = (_, i) => ({ type: "put", key: key(i), value: numbered(n).repeat(10) });
        db.batch(Array.from({ length: 500 }, put));
        db.flush();
      }
      trees.push(db.levels());
    }
    assert.ok(trees[0].length > 1, `${policy.policy} compacts`);
    assert.deepEqual(trees[0], trees[1]);
  }
});

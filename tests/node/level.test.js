/** The suite that abstract-level publishes, over `terrane-level`, unchanged and whole; and tests of its own. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { levelOf } from "../../bindings-js/level/level.js";
import { TerraneLevel } from "../../bindings-js/level/node.js";
import { bundle, folder, start } from "./folder.js";

const synchronous = await import(bundle("sync.js"));

const inLevel = (path) =>
  fileURLToPath(new URL(`../../bindings-js/level/${path}`, import.meta.url));

/** Runs a program to its end; returns what it printed, or throws. */
async function runProgram(program, ...args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  const [code] = await once(child, "close");
  assert.equal(code, 0, printed);
  return printed;
}

const SUITE = inLevel("test/suite.js");

/** The number of assertions of abstract-level 3.1.1, by what the database supports. */
const ASSERTIONS = { directory: 5168, file: 5168, memory: 5156 };

for (const [where, expected] of Object.entries(ASSERTIONS)) {
  // It opens hundreds of stores, which takes minutes on a busy disk.
  const skip = where === "file" && !process.env["TERRANE_FULL"];
  test(`the suite of abstract-level passes, ${where}`, { skip }, async () => {
    const child = spawn(process.execPath, [SUITE, where], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
    const [code] = await once(child, "close");
    const failed = printed.match(/^(#.*\n)?not ok .*$/gm) ?? [];
    assert.deepEqual([code, failed], [0, []]);
    const counts = /^# tests (\d+)\n# pass +(\d+)$/m.exec(printed)?.slice(1).map(Number);
    assert.deepEqual(counts, [expected, expected]);
  });
}

test("a database in use by another process is locked", async () => {
  const path = `${folder()}/store`;
  const { child, ended } = start(
    `import { LevelStore } from ${JSON.stringify(bundle("level.js"))};
    await LevelStore.open(process.argv[1], {});
    console.log("open");
    setInterval(() => undefined, 1000);`,
    path,
  );
  await once(child.stdout, "data");
  const db = new TerraneLevel(path, { timeout: 0 });
  await assert.rejects(db.open(), (error) => {
    const codes = [error.code, error.cause.code, error.cause.cause.code];
    assert.deepEqual(codes, ["LEVEL_DATABASE_NOT_OPEN", "LEVEL_LOCKED", "busy"]);
    assert.match(error.cause.message, new RegExp(`is locked: .* process ${child.pid}`));
    return true;
  });
  child.kill();
  await ended;
  await db.open();
  await db.close();
});

/** The most calls of a loop that should have ended before. */
const CALLS_MAX = 1_000_000;

test("timers run while a loop awaits calls", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  await db.put("a", "1");
  for (const call of [() => db.get("a"), () => db.put("a", "1"), () => db.del("b")]) {
    let isDue = false;
    setTimeout(() => (isDue = true), 0);
    let calls = 0;
    for (; !isDue && calls < CALLS_MAX; calls++) await call();
    assert.ok(calls < CALLS_MAX);
  }
  await db.close();
});

test("values that only files have are read", async () => {
  const path = `${folder()}/store`;
  const rows = Array.from({ length: 200 }, (_, n) => [`key ${n}`, `value ${n}`.repeat(100)]);
  const db = new TerraneLevel(path);
  await db.batch(rows.map(([key, value]) => ({ type: "put", key, value })));
  await db.compactRange("a", "z");
  await db.close();
  await db.open();
  for (const [key, value] of rows) assert.equal(await db.get(key), value);
  await db.close();
  await db.open();
  const found = await Promise.all(rows.map(([key]) => db.get(key)));
  assert.deepEqual(
    found,
    rows.map(([, value]) => value),
  );
  const sorted = rows.toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const reverse of [false, true]) {
    const expected = reverse ? sorted.toReversed() : sorted;
    for (const limit of [1, 20, 100, 199, 1000]) {
      await db.close();
      await db.open();
      // Some of them are in the cache then.
      await db.get("key 120");
      assert.deepEqual(await db.iterator({ reverse, limit }).all(), expected.slice(0, limit));
      await db.close();
      await db.open();
      const awaited = [];
      for await (const row of db.iterator({ reverse, limit })) awaited.push(row);
      assert.deepEqual(awaited, expected.slice(0, limit));
    }
  }
  await db.close();
});

test("writes of one turn take effect in their order", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  const big = "x".repeat(100_000);
  for (let round = 0; round < 20; round++) {
    const values = Array.from({ length: 30 }, (_, n) => (n % 7 === 3 ? big + n : `${round}.${n}`));
    const puts = values.map((value, n) => db.put("key", value, { sync: n % 5 === 4 }));
    const deleted = round % 2 === 1 ? db.del("key") : undefined;
    await Promise.all([...puts, deleted]);
    assert.equal(await db.get("key"), deleted === undefined ? values.at(-1) : undefined);
  }
  await db.close();
});

const EXAMPLES = {
  "from-level.js": "2026-01 hello\n2026-02 again",
  "main-process.cjs": '[["a",{"text":"hello"}]]',
};

for (const [name, expected] of Object.entries(EXAMPLES)) {
  test(`the example ${name} runs`, async () => {
    const printed = await runProgram(process.execPath, inLevel(`examples/${name}`), folder());
    assert.equal(printed.trim(), expected);
  });
}

test("types accept what applications of Level write", async () => {
  const options =
    "--noEmit --strict --target es2022 --module nodenext --lib es2024,esnext.disposable";
  const types = ["--types", "node", "--typeRoots", inLevel("../node_modules/@types")];
  const args = [...options.split(" "), ...types, inLevel("test/types.ts")];
  assert.equal(await runProgram(inLevel("../node_modules/.bin/tsc"), ...args), "");
});

test("a signal ends an iterator's wait", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  await db.batch(["a", "b"].map((key) => ({ type: "put", key, value: key })));
  const aborter = new AbortController();
  const iterator = db.iterator({ signal: aborter.signal });
  const pending = iterator.nextv(10);
  aborter.abort(new Error("enough"));
  await assert.rejects(pending, { name: "AbortError", code: "LEVEL_ABORTED" });
  await iterator.close();
  assert.deepEqual(await db.keys({ signal: new AbortController().signal }).all(), ["a", "b"]);
  await db.close();
});

test("text that is not well-formed is changed as by any Level", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  await db.put("a\ud800", "b\udfff");
  assert.equal(await db.get("a\ufffd"), "b\ufffd");
  await db.put("bytes", Uint8Array.of(0x61, 0xff), { valueEncoding: "view" });
  assert.equal(await db.get("bytes"), "a\ufffd");
  assert.equal(db.getSync("bytes"), "a\ufffd");
  assert.deepEqual(await db.getMany(["bytes", "none"]), ["a\ufffd", undefined]);
  assert.deepEqual(await db.values({ gte: "b" }).all(), ["a\ufffd"]);
  await db.close();
});

test("iterators continue from any position", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  const keys = Array.from({ length: 3000 }, (_, n) => String(n).padStart(5, "0"));
  await db.batch(keys.map((key) => ({ type: "put", key, value: key })));
  for (const reverse of [false, true]) {
    const expected = reverse ? keys.toReversed() : keys;
    const found = [];
    for await (const key of db.keys({ reverse })) found.push(key);
    assert.deepEqual(found, expected);
    const iterator = db.keys({ reverse });
    const mixed = [await iterator.next(), ...(await iterator.nextv(5)), await iterator.next()];
    for (let n = 0; n < 30; n++) mixed.push(await iterator.next());
    mixed.push(...(await iterator.nextv(500)), await iterator.next());
    assert.deepEqual(mixed, expected.slice(0, mixed.length));
    // While a page is being read ahead.
    iterator.seek("01000");
    assert.equal(await iterator.next(), "01000");
    iterator.seek("02000");
    assert.deepEqual(await iterator.nextv(1), ["02000"]);
    await iterator.close();
  }
  await db.close();
});

test("sizes and compactions wait for the opening", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  assert.equal(db.status, "opening");
  assert.equal(await db.approximateSize("a", "z"), 0);
  await db.close();
  const again = new TerraneLevel(db.location);
  await again.compactRange("a", "z");
  await again.close();
  for (const call of ["approximateSize", "compactRange"]) {
    await assert.rejects(again[call]("a", "z"), {
      code: "LEVEL_DATABASE_NOT_OPEN",
    });
  }
});

test("sizes and compactions need both bounds", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  for (const call of ["approximateSize", "compactRange"]) {
    for (const [missing, ...bounds] of [
      ["start"],
      ["end", "a"],
      ["start", undefined, "z"],
      ["end", "a", null],
    ]) {
      const message = new RegExp(`^${missing}: expected a key, found (undefined|null)$`);
      await assert.rejects(db[call](...bounds), { name: "TypeError", message });
    }
  }
  await db.close();
});

/** A Level database that notes the options of its store, and whether each write and clear was to be durable. */
function noted() {
  const seen = { options: undefined, writes: [] };
  const open = async (_path, options) => {
    seen.options = options;
    return {
      write: async (_operations, sync) => seen.writes.push(sync),
      clear: async (_range, _reverse, _limit, sync) => seen.writes.push(sync),
      close: async () => {},
    };
  };
  return {
    Noted: levelOf({ formats: { view: true }, getSync: false, open }),
    seen,
  };
}

test("writes are durable as the database or the call says", async () => {
  for (const [durability, byDefault] of Object.entries({
    buffered: false,
    sync: true,
  })) {
    const { Noted, seen } = noted();
    const db = new Noted("store", { durability });
    await db.put("a", "1");
    await db.del("a");
    await db.batch([{ type: "put", key: "a", value: "1" }]);
    await db.clear();
    await db.put("a", "1", { sync: !byDefault });
    await db.clear({ gt: "a", limit: 1, sync: !byDefault });
    const byCall = [!byDefault, !byDefault];
    assert.deepEqual(seen.writes, [byDefault, byDefault, byDefault, byDefault, ...byCall]);
    await db.close();
  }
});

test("a clear is durable as the database or the call says", async () => {
  const path = `${folder()}/store`;
  // Nothing but a call syncs.
  const syncInterval = 2 ** 31 - 1;
  const store = await synchronous.open(path, { syncInterval });
  const syncs = () => store.stats().waits.sync.count;
  for (const durability of ["buffered", "sync"]) {
    const db = new TerraneLevel(path, { durability, syncInterval });
    for (const [isSync, options] of [
      [durability === "sync", {}],
      [true, { sync: true }],
      [false, { sync: false }],
    ]) {
      await db.batch(["a", "b"].map((key) => ({ type: "put", key, value: "1" })));
      const before = syncs();
      await db.clear(options);
      assert.equal(syncs() > before, isSync, `${durability} ${JSON.stringify(options)}`);
    }
    await db.put("a", "1", { sync: false });
    const snapshot = db.snapshot();
    const before = syncs();
    await db.clear({ snapshot });
    assert.equal(syncs() > before, durability === "sync");
    await snapshot.close();
    await db.close();
  }
  store.close();
});

test("a durability that there is not is refused", async () => {
  const db = new TerraneLevel(`${folder()}/store`, { durability: "disk" });
  await assert.rejects(db.open(), ({ cause }) => {
    assert.equal(cause.message, 'durability: expected "sync" or "buffered", found "disk"');
    return true;
  });
});

test("classic-level's sizes are those of the store", async () => {
  const { Noted, seen } = noted();
  const db = new Noted("store", {
    cacheSize: 1,
    writeBufferSize: 2,
    compression: false,
  });
  await db.open();
  const options = {
    cacheBytes: 1,
    memtableBytes: 2,
    create: true,
    errorIfExists: false,
  };
  assert.deepEqual(seen.options, options);
  await db.close();
});

test("createIfMissing is named only where it is false", async () => {
  const path = folder();
  writeFileSync(`${path}/CURRENT`, "MANIFEST-000001\n");
  const refused = (options) =>
    new TerraneLevel(path, options).open().then(
      () => assert.fail("it opened"),
      ({ cause }) => cause.message,
    );
  assert.doesNotMatch(await refused({}), /createIfMissing/);
  assert.match(await refused({ createIfMissing: false }), /createIfMissing is false/);
});

test("a get shows the store as it was at its call", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  const keys = Array.from({ length: 300 }, (_, n) => `key ${n}`);
  await db.batch(keys.map((key) => ({ type: "put", key, value: "old" })));
  // Some gets run at once, and the others together.
  const gets = keys.map((key) => {
    const found = db.get(key);
    return [found, db.put(key, "new")];
  });
  for (const [found, put] of gets)
    assert.deepEqual(await Promise.all([found, put]), ["old", undefined]);
  const cleared = [db.get("key 1"), db.clear()];
  assert.equal(await cleared[0], "new");
  await Promise.all(cleared);
  await db.close();
});

test("clears and writes keep their order", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  const put = (key, options) => db.batch([{ type: "put", key, value: "1" }], options);
  for (const options of [{}, { sync: true }]) {
    await Promise.all([put("a", options), put("b", options), db.clear(), put("c", options)]);
    assert.deepEqual(await db.keys().all(), ["c"]);
  }
  await db.close();
});

test("an iterator yields more rows than 32 bits count", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  await db.batch(["a", "b"].map((key) => ({ type: "put", key, value: "1" })));
  const iterator = db.keys();
  assert.deepEqual(await iterator.nextv(2 ** 32), ["a", "b"]);
  await iterator.close();
  await db.close();
});

test("a snapshot of another database is refused", async () => {
  const [one, other] = [1, 2].map((n) => new TerraneLevel(`${folder()}/${n}`));
  await Promise.all([one.put("a", "1"), other.put("a", "2")]);
  const snapshot = one.snapshot();
  other.snapshot();
  const message = /^snapshot: expected one of this database, found one of another$/;
  await assert.rejects(other.get("a", { snapshot }), { name: "TypeError", message });
  assert.throws(() => other.getSync("a", { snapshot }), TypeError);
  await assert.rejects(other.keys({ snapshot }).next(), TypeError);
  assert.equal(await one.sublevel("s").get("a", { snapshot }), undefined);
  assert.equal(await one.get("a", { snapshot }), "1");
  await Promise.all([one.close(), other.close()]);
});

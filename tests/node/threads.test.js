/** Threads and stores: what threads that share a store see, and what closed stores and ended threads leave. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { bundle, folder, run, startThread } from "./folder.js";

const SOURCE = `
import { readdirSync } from "node:fs";
const [addresses, path] = process.argv.slice(1);
const stores = await Promise.all(JSON.parse(addresses).map((address) => import(address)));
const threads = () => readdirSync("/proc/self/task").length;
const kept = [];
const openAll = async (name) => {
  for (const { open } of stores) kept.push(await open(path + "/" + name));
  for (const db of kept.slice(-stores.length)) await db.close();
};
// The first stores start what stays: the threads of Node's own pool.
await openAll("first");
const [before, descriptors] = [threads(), readdirSync("/proc/self/fd").length];
for (let i = 0; i < 20; i++) await openAll(String(i));
// By this thread alone, which starts none for each store.
const { open } = stores[1];
for (let i = 0; i < 1000; i++) (await open(path + "/again")).close();
// A thread ends a moment after its store is closed.
const isMore = () =>
  threads() > before + stores.length || readdirSync("/proc/self/fd").length > descriptors;
while (isMore()) await new Promise((passed) => setTimeout(passed, 50));
console.log(kept.length);
`;

// The limit ends what hangs.
test("closed stores leave no thread and no descriptor", { timeout: 600_000 }, async (context) => {
  try {
    readdirSync("/proc/self/task");
  } catch {
    return context.skip("the system lists no threads");
  }
  const addresses = JSON.stringify(["index.js", "sync.js"].map(bundle));
  assert.equal(await run(SOURCE, addresses, folder()), "42");
});

for (const entry of ["index.js", "sync.js"]) {
  test(`a watch learns of another thread's write, ${entry}`, async () => {
    const path = `${folder()}/store`;
    const { open } = await import(bundle(entry));
    const db = await open(path);
    const watch = db.watch({ prefix: "a" });
    const thread = startThread(
      path,
      `const db = await open(path);
      parentPort.on("message", (key) => db.put(key, "by another thread"));
      parentPort.postMessage("open");`,
    );
    await once(thread, "message");
    for (const key of ["a1", "a2", "a3"]) {
      // Nothing but the other thread does anything meanwhile.
      const changed = watch.next();
      await new Promise((passed) => setTimeout(passed, 50));
      thread.postMessage("b");
      thread.postMessage(key);
      assert.deepEqual((await changed).value.keys, [key]);
    }
    await watch.return();
    await thread.terminate();
    await db.close();
  });

  test(`the feed has another thread's writes, ${entry}`, async () => {
    const path = `${folder()}/store`;
    const { open } = await import(bundle(entry));
    const db = await open(path, { feedBytes: 1 << 20 });
    const changes = db.changes();
    const thread = startThread(
      path,
      `const db = await open(path);
      parentPort.on("message", (key) => db.put(key, "by another thread"));
      parentPort.postMessage("open");`,
    );
    await once(thread, "message");
    for (const key of ["a1", "a2", "a3"]) {
      // Nothing but the other thread does anything meanwhile.
      const changed = changes.next();
      await new Promise((passed) => setTimeout(passed, 50));
      thread.postMessage(key);
      const [operation] = (await changed).value.operations;
      assert.deepEqual([operation.key, operation.value], [key, "by another thread"]);
    }
    await changes.return();
    await thread.terminate();
    await db.close();
  });
}

const CONTENDERS = 4;

/** Increments counters by conditional batches, until each was incremented that often by this thread. */
const INCREMENT = `
const db = await open(path);
const [counters, times] = [5, TIMES];
for (let n = 0; n < counters * times; n++) {
  const key = "counter " + (n % counters);
  for (;;) {
    const found = db.getVersioned(key);
    const value = String(Number(found?.value ?? 0) + 1);
    const condition = found === undefined
      ? { key, exists: false }
      : { key, sequence: found.sequence };
    try {
      db.batch([{ type: "put", key, value }], { if: [condition] });
      break;
    } catch (error) {
      if (error.code !== "conflict") throw error;
    }
  }
}
db.close();
`;

test("counters by conditional batches of threads are exact", async () => {
  const path = `${folder()}/store`;
  const times = 200;
  const { open } = await import(bundle("index.js"));
  const db = await open(path, { memtableBytes: 64 << 10 });
  const source = INCREMENT.replace("TIMES", String(times));
  const threads = Array.from({ length: CONTENDERS }, () => startThread(path, source));
  const exits = Promise.all(threads.map((thread) => once(thread, "exit")));
  let ended = false;
  const end = () => (ended = true);
  exits.then(end, end);
  // This thread writes and reads as well.
  let writes = 0;
  while (!ended) {
    await db.put(`other ${writes % 1000}`, "x".repeat(1000));
    assert.ok((await db.get(`other ${writes % 1000}`)).startsWith("x"));
    writes += 1;
  }
  assert.deepEqual(await exits, Array(CONTENDERS).fill([0]));
  for (let n = 0; n < 5; n++) {
    assert.equal(await db.get(`counter ${n}`), String(CONTENDERS * times));
  }
  assert.deepEqual((await db.check()).damage, []);
  await db.close();
});

test("a thread terminated in mid-call leaves the store to others", async () => {
  const path = `${folder()}/store`;
  const { LevelStore } = await import(bundle("level.js"));
  const store = await LevelStore.open(path, {});
  const source = `
import { LevelStore } from ${JSON.stringify(bundle("level.js"))};
import { parentPort } from "node:worker_threads";
const store = await LevelStore.open(${JSON.stringify(path)}, {});
const request = { range: {}, reverse: false, keys: "utf8", values: "utf8", snapshot: 0 };
parentPort.postMessage("open");
for (let n = 0; ; n++) {
  const rows = store.scan(request);
  const calls = [store.write([{ type: "put", key: "k" + n, value: "v" }], n % 10 === 0)];
  calls.push(rows.read(1000, 1 << 20), store.get("k0", "utf8"), store.hasMany(["k1"]));
  store.snapshot();
  await Promise.all(calls);
}`;
  for (let n = 0; n < 10; n++) {
    const url = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
    const thread = new Worker(url);
    await once(thread, "message");
    await store.write([{ type: "put", key: "main", value: String(n) }], false);
    await thread.terminate();
    assert.equal(await store.get("main", "utf8"), String(n));
  }
  await store.close();
  // Nobody in this process has it.
  const again = `import { open } from ${JSON.stringify(bundle("sync.js"))};
    const db = await open(process.argv[1], { create: false, timeout: 0 });
    console.log(db.get("main"), db.check().damage.length);`;
  assert.equal(await run(again, path), "9 0");
});

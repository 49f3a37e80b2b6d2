/**
 * Ten minutes of four threads and this one on a store, with TERRANE_FULL, or as many seconds as
 * TERRANE_SOAK_SECONDS says.
 *
 * 1. Threads increment counters by conditional batches. Each counter is exact in the end.
 * 2. They and this thread also put, delete, read and scan. No call fails, and none waits for ever.
 * 3. The memory of the process does not grow: its peak in the last half is that of the first, but for a quarter.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { bundle, folder, startThread } from "./folder.js";

const SECONDS = Number(
  process.env["TERRANE_SOAK_SECONDS"] ?? (process.env["TERRANE_FULL"] ? 600 : 0),
);
const THREADS = 4;
const COUNTERS = 5;
const KEYS = 20_000;
/** The growth of the peak of memory that is not counted as growth. */
const GROWTH_MAX = 1.25;

/** Works until a message arrives; posts the increments that it made. */
const WORK = `
const db = await open(path);
const made = Array(${COUNTERS}).fill(0);
let stops = false;
parentPort.on("message", () => (stops = true));
const any = (below) => Math.floor(Math.random() * below);
function increment(counter) {
  const key = "counter " + counter;
  for (;;) {
    const found = db.getVersioned(key);
    const value = String(Number(found?.value ?? 0) + 1);
    const condition = found === undefined
      ? { key, exists: false }
      : { key, sequence: found.sequence };
    try {
      db.batch([{ type: "put", key, value }], { if: [condition] });
      made[counter] += 1;
      return;
    } catch (error) {
      if (error.code !== "conflict") throw error;
    }
  }
}
const CALLS = [
  () => increment(any(${COUNTERS})),
  () => db.put("key " + any(${KEYS}), "x".repeat(any(1000))),
  () => db.delete("key " + any(${KEYS})),
  () => db.getMany([1, 2, 3].map(() => "key " + any(${KEYS}))),
  () => {
    let rows = 0;
    for (const [key] of db.entries({ gte: "key " + any(${KEYS}), limit: 50 })) rows += key.length;
  },
  () => {
    const snapshot = db.snapshot();
    snapshot.get("counter 0");
    snapshot.release();
  },
];
while (!stops) {
  for (let n = 0; n < 200; n++) CALLS[any(CALLS.length)]();
  // Messages arrive now.
  await new Promise((resolve) => setImmediate(resolve));
}
db.close();
parentPort.postMessage(made);
parentPort.close();
`;

test("threads share a store for long", { skip: SECONDS === 0 }, async () => {
  const path = `${folder()}/store`;
  const { open } = await import(bundle("index.js"));
  const { LevelStore } = await import(bundle("level.js"));
  const db = await open(path, { memtableBytes: 1 << 20, cacheBytes: 4 << 20 });
  const level = await LevelStore.open(path, {});
  const threads = Array.from({ length: THREADS }, () => startThread(path, WORK));
  const made = Promise.all(threads.map(async (thread) => (await once(thread, "message"))[0]));
  made.catch(() => undefined);

  const end = performance.now() + SECONDS * 1000;
  const half = end - SECONDS * 500;
  const peaks = [0, 0];
  for (let n = 0; performance.now() < end; n++) {
    const key = `key ${n % KEYS}`;
    const scan = level.scan({
      range: { gte: key },
      reverse: false,
      keys: "utf8",
      snapshot: 0,
    });
    await Promise.all([
      db.put(key, "y".repeat(500), {
        durability: n % 100 === 0 ? "sync" : "buffered",
      }),
      level.write([{ type: "put", key: `level ${n % KEYS}`, value: "z" }], false),
      level.get(key, "utf8"),
      scan.read(20, 1 << 20),
    ]);
    scan.close();
    const which = performance.now() < half ? 0 : 1;
    peaks[which] = Math.max(peaks[which], process.memoryUsage.rss());
  }
  for (const thread of threads) thread.postMessage("stop");
  const increments = await made;
  for (let counter = 0; counter < COUNTERS; counter++) {
    const expected = increments.reduce((sum, of) => sum + of[counter], 0);
    assert.ok(expected > 0);
    assert.equal(await db.get(`counter ${counter}`), String(expected));
  }
  assert.deepEqual((await db.check()).damage, []);
  await level.close();
  await db.close();
  const megabytes = peaks.map((bytes) => Math.round(bytes / 2 ** 20));
  assert.ok(
    peaks[1] <= GROWTH_MAX * peaks[0],
    `resident at most: ${megabytes.join(" MB, then ")} MB`,
  );
});

/** The client's calls, with stubs for its workers. */

import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, test } from "node:test";
import { locks, mute, settle, emptyStore, Stub, workers } from "./page.js";
const { destroy, importStore, open } = await import("../dist/index.js");

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

beforeEach(() => {
  locks.query = undefined;
});

test("a worker that cannot be started fails with a typed error", async () => {
  const failing = () => {
    throw new DOMException("of another origin", "SecurityError");
  };
  for (const call of [open, (name, options) => importStore(name, new Blob([]), options)]) {
    await assert.rejects(call("start", { worker: failing }), {
      code: "unavailable",
      message: /worker could not be loaded.*another origin.*"Bundlers"/,
    });
    await assert.rejects(call("start", { worker: () => undefined }), { code: "invalid-argument" });
  }
});

test("an invalid module is rejected before a worker starts", async () => {
  for (const wasm of [7, null, {}, () => undefined, "http://"]) {
    const { started, worker } = workers(emptyStore);
    await assert.rejects(open("no-module", { worker, wasm }), { code: "invalid-argument" });
    assert.equal(started.length, 0);
  }
});

test("what is no name, range or number of rows is refused, and nothing sent", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("mistaken", { worker });
  const cursor = db.cursor();
  await db.keyspaces();
  const { length } = started[0].requests;
  for (const call of [
    () => db.keyspace("\0reserved"),
    () => db.dropKeyspace("\0reserved"),
    () => db.count({ prefix: "a", gte: "a" }),
    () => db.entries({ prefix: "a", lt: "b" }),
    () => db.watch({ prefix: "a", gt: "a" }),
    () => cursor.next(0),
  ]) {
    await assert.rejects(async () => call(), { code: "invalid-argument" }, String(call));
  }
  await settle();
  assert.equal(started[0].requests.length, length);
  await db.close();
});

test("an unknown option fails its call, which sends nothing, with the nearest one first", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("unknown", { worker });
  const snapshot = db.snapshot();
  const waits = [
    (options) => db.get("k", options),
    (options) => snapshot.getMany(["k"], options),
    (options) => db.has("k", options),
    (options) => snapshot.hasMany(["k"], options),
    (options) => db.first(options),
    (options) => snapshot.last(options),
    (options) => db.clear(options),
    (options) => db.put("k", "v", options),
    (options) => db.delete("k", options),
    (options) => db.batch([], options),
    (options) => db.entries(options),
    (options) => db.keys(options),
    (options) => snapshot.values(options),
    (options) => db.count(options),
    (options) => db.trace("k", options),
    (options) => db.traceScan(options),
    (options) => db.levels(options),
    (options) => db.policy(options),
    (options) => db.setPolicy("leveled", options),
    (options) => db.approximateSize(options),
    (options) => db.compactRange(options),
    (options) => db.keyspaces(options),
    (options) => db.dropKeyspace("k", options),
    (options) => db.dropQuarantine(options),
    (options) => db.sync(options),
    (options) => db.flush(options),
    (options) => db.stats(options),
    (options) => db.check(options),
    (options) => db.events(options),
    (options) => db.checkpoint("copy", options),
    (options) => db.export(options),
    (options) => open("other", { worker, ...options }),
    (options) => importStore("other", new Blob([]), { worker, ...options }),
  ];
  const refused = (call, options, message) =>
    assert.rejects(async () => call(options), { code: "invalid-argument", message });
  for (const call of waits) {
    await refused(call, { signl: undefined }, /^options: expected signal\b.*, found "signl"$/);
  }
  for (const [call, options, message] of [
    [
      db.count,
      { gte: "a", ltt: "b" },
      /^options: expected lte?, .*\bgte, gt, signal, found "ltt"$/,
    ],
    [db.entries, { limits: 3 }, /^options: expected limit, .*\breverse, signal, found "limits"$/],
    [
      db.traceScan,
      { limit: 3 },
      /^options: expected prefix, gte, gt, lte, lt, reverse, signal, found "limit"$/,
    ],
    [
      (options) => db.put("k", "v", options),
      { durabilty: "sync" },
      /expected durability, ttl, expiresAt, keyEncoding, valueEncoding, signal,/,
    ],
    [(options) => db.keyspace("k", options), { signal: undefined }, /^options: expected create, /],
    [
      (options) => open("other", options),
      { cacheBtyes: 1 },
      /expected cacheBytes, .*\bworker, found/,
    ],
    [
      (options) => destroy("other", options),
      { signal: undefined },
      /expected timeout, worker, found/,
    ],
    [(options) => db.get("k", options), "binary", /^options: expected an object, found "binary"$/],
    [(options) => db.flush(options), null, /^options: expected an object, found null$/],
    [(options) => db.put("k", "v", options), () => {}, /expected an object, found a function$/],
  ]) {
    await refused(call.bind(db), options, message);
  }
  await settle();
  assert.deepEqual([started.length, started[0].operations], [1, ["open", "snapshot"]]);
  snapshot.release();
  await db.close();
});

test("arguments that cannot be cloned fail only their call", async () => {
  const { started, worker } = workers(({ op }) =>
    op === "endImport" ? { value: null } : emptyStore({ op }),
  );
  const source = new Blob(["bytes"]);
  class Failing extends Stub {
    postMessage(requests, transfer) {
      if (requests.some(({ op }) => op === "importBytes"))
        throw new DOMException("no", "DataCloneError");
      super.postMessage(requests, transfer);
    }
  }
  const failing = () => {
    const stub = new Failing(worker().reply);
    started.push(stub);
    return stub;
  };
  await assert.rejects(importStore("sent", source, { worker: failing }), {
    code: "invalid-argument",
    message: /expected arguments that can be sent/,
  });
  assert.ok(started.at(-1).terminated);
  const view = new Uint8Array([1]);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  const gone = new ReadableStream({ start: (controller) => controller.enqueue(view) });
  await assert.rejects(importStore("gone", gone, { worker }), {
    code: "invalid-argument",
    message: /^source: .* transferred/,
  });
});

test("a signal that is not an AbortSignal is refused", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("signals", { worker });
  for (const signal of [null, {}, new AbortController()]) {
    const refused = {
      code: "invalid-argument",
      message: /^signal: expected an AbortSignal, found /,
    };
    for (const call of [
      () => db.get("k", { signal }),
      () => db.put("k", "v", { signal }),
      () => db.entries({ signal }),
      () => db.events({ signal }),
      () => open("other", { worker, signal }),
      () => importStore("other", new Blob([]), { worker, signal }),
    ]) {
      await assert.rejects(async () => call(), refused);
    }
  }
  assert.deepEqual([started.length, started[0].operations], [1, ["open"]]);
  await db.close();
});

test("a call that cannot be cloned fails alone in its message", async () => {
  class Failing extends Stub {
    postMessage(requests, transfer) {
      if (Array.isArray(requests) && requests.some(({ method }) => method === "flush"))
        throw new DOMException("no", "DataCloneError");
      super.postMessage(requests, transfer);
    }
  }
  const stub = new Failing(emptyStore);
  const db = await open("alone", { worker: () => stub });
  const calls = [db.put("k", "v"), db.flush(), db.get("k")];
  const settled = await Promise.allSettled(calls);
  assert.deepEqual(
    settled.map(({ reason }) => reason?.code),
    [undefined, "invalid-argument", undefined],
  );
  assert.deepEqual(stub.operations, ["open", "write", "lookup"]);
  await db.close();
});

test("a store opens in a browser that cannot query its locks", async () => {
  locks.query = () => Promise.reject(new DOMException("not now", "InvalidStateError"));
  const { worker } = workers(emptyStore);
  const db = await open("no-query", { worker });
  await settle();
  assert.equal(await db.get("k"), undefined);
  await db.close();
});

test("bytes and blobs of another realm are accepted", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("realms", { worker });
  const bytes = runInNewContext("new Uint8Array([1, 2])");
  await db.put(bytes, bytes);
  assert.deepEqual([...started[0].requests.at(-1).batch], [1, 0, 2, 1, 2, 2, 1, 2]);
  for (const view of ["new Uint16Array([258])", "new Uint8Array([2, 1]).buffer"]) {
    await db.put(runInNewContext(view), "v");
    assert.deepEqual([...started[0].requests.at(-1).batch], [1, 0, 2, 2, 1, 1, 118]);
  }
  for (const none of ["new SharedArrayBuffer(1)", "[1]"]) {
    await assert.rejects(db.put(runInNewContext(none), "v"), { code: "invalid-argument" });
  }
  await db.close();
});

test("an iteration starts at its call and ends at an early return", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("moment", { worker });
  const walk = db.entries();
  void db.put("k", "v");
  for await (const entry of walk) throw new Error(`an empty store has ${entry}`);
  assert.deepEqual(started[0].operations, ["open", "scan", "page", "write"]);
  const left = db.keys();
  await left.return();
  await db.sync();
  assert.deepEqual(started[0].operations.slice(4), ["scan", "page", "endScan", "sync"]);
  await db.close();
});

test("a forgotten iteration ends", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("forgotten", { worker });
  db.values();
  const collect = setInterval(gc, 10);
  while (!started[0].operations.includes("endScan")) await settle();
  clearInterval(collect);
  await db.close();
});

test("a slow listener learns how many events it missed", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("slow", { worker });
  const events = db.events();
  await settle();
  const event = '{"type":"compaction_ended","compaction":1}'.replace("_", "-");
  const emit = (count) => started[0].send({ id: 0, value: Array(count).fill(event) });
  emit(10_003);
  await settle();
  const seen = [];
  for (let n = 0; n < 10_001; n++) seen.push((await events.next()).value);
  assert.deepEqual(seen.at(-1), { type: "dropped", count: 3 });
  assert.equal(seen.filter(({ type }) => type === "compaction-ended").length, 10_000);
  emit(1);
  assert.equal((await events.next()).value.type, "compaction-ended");
  await events.return();
  await db.sync();
  assert.deepEqual(started[0].requests.at(-2).on, false);
  await db.close();
});

test("aborting an import that waits for a lock ends its worker", async () => {
  const { started, worker } = workers(({ op }) => (op === "import" ? undefined : { value: null }));
  const off = new AbortController();
  const importing = importStore("held", new Blob([]), { worker, signal: off.signal });
  while (!started[0]?.operations.includes("import")) await settle();
  off.abort("why");
  await assert.rejects(importing, { code: "aborted", cause: "why" });
  assert.deepEqual(started[0].operations, ["import", "endImport"]);
  assert.ok(started[0].terminated);
});

test("aborting an import ends a worker that never replies", async () => {
  const { started, worker } = workers(mute);
  const off = new AbortController();
  const importing = importStore("mute", new Blob([]), { worker, signal: off.signal });
  while (!started[0]?.operations.includes("import")) await settle();
  off.abort("why");
  await assert.rejects(importing, { code: "aborted", cause: "why" });
  assert.deepEqual(started[0].operations, ["import", "endImport"]);
  assert.ok(started[0].terminated);
});

/** The client through what happens to a page, with stubs for its workers. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { busy, die, document, dispatch, locks, mute, settle, emptyStore, workers } from "./page.js";
const { BusyError, ClosedError, destroy, EngineError, importStore, open } =
  await import("../dist/index.js");

beforeEach(() => {
  locks.clear();
});

/** Returns the present state of a promise. */
async function fate(promise) {
  const pending = Symbol();
  await settle();
  const settled = Promise.race([promise, Promise.resolve(pending)]);
  return settled.then(
    (value) => (value === pending ? "pending" : "done"),
    (error) => error.code,
  );
}

test("suspended while opening, a page opens again on resume", async () => {
  const { started, worker } = workers(mute, emptyStore);
  const opening = open("hidden-opening", { worker });
  await settle();
  dispatch("pagehide");
  assert.ok(started[0].terminated);
  assert.equal(await fate(opening), "pending");
  dispatch("pageshow");
  const db = await opening;
  assert.equal(await db.get("k"), undefined);
  await db.close();
});

test("suspended while reopening, a page releases again", async () => {
  const { started, worker } = workers(emptyStore, mute, emptyStore);
  const db = await open("hidden-twice", { worker });
  dispatch("pagehide");
  await settle();
  dispatch("pageshow");
  const waiting = db.get("k");
  await settle();
  dispatch("pagehide");
  assert.ok(started[1].terminated);
  dispatch("pageshow");
  await waiting;
  assert.deepEqual(started[2].operations, ["open", "ended", "lookup"]);
  await db.close();
});

test("a frozen page releases the store until it resumes", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("frozen", { worker });
  void db.put("k", "v");
  dispatch("freeze", document);
  dispatch("pagehide");
  await settle();
  assert.deepEqual(started[0].operations, ["open", "write", "suspend"]);
  dispatch("resume", document);
  dispatch("pageshow");
  await db.get("k");
  assert.ok(started[0].terminated);
  assert.equal(started.length, 2);
  await db.close();
});

test("a store in memory survives suspending the page", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("memory", { storage: "memory", worker });
  dispatch("pagehide");
  dispatch("pageshow");
  await db.get("k");
  assert.deepEqual(started[0].operations, ["open", "lookup"]);
  await db.close();
});

test("a worker that died during suspension fails only its calls", async () => {
  const dying = (request) => (request.op === "open" ? emptyStore(request) : undefined);
  const { started, worker } = workers(dying, emptyStore);
  const db = await open("died", { worker });
  const lost = db.put("k", "v");
  lost.catch(() => undefined);
  dispatch("pagehide");
  dispatch("pageshow");
  await db.get("k");
  await assert.rejects(lost, EngineError);
  assert.ok(started[0].terminated);
  await db.close();
});

test("a store that another page took is busy until released", async () => {
  const { started, worker } = workers(emptyStore, busy, busy, emptyStore);
  const db = await open("taken", { worker });
  const events = db.events();
  dispatch("pagehide");
  await settle();
  dispatch("pageshow");
  await assert.rejects(db.get("k"), BusyError);
  await assert.rejects(db.put("k", "v"), BusyError);
  assert.equal(await db.get("k"), undefined);
  assert.equal(started.length, 4);
  assert.ok(started[3].operations.includes("listen"));
  await events.return();
  await db.close();
});

test("a store that cannot be reopened can be closed", async () => {
  const { worker } = workers(emptyStore, busy);
  const db = await open("closed-aside", { worker });
  dispatch("pagehide");
  await settle();
  dispatch("pageshow");
  await assert.rejects(db.get("k"), BusyError);
  await db.close();
  await assert.rejects(db.get("k"), ClosedError);
});

test("reopening ignores the first opening's creation options", async () => {
  const { started, worker } = workers(emptyStore);
  const options = { worker, errorIfExists: true, policy: "tiered" };
  const db = await open("as-it-is", options);
  dispatch("pagehide");
  await settle();
  dispatch("pageshow");
  await db.get("k");
  const [first, again] = started.map(({ requests: [{ create, errorIfExists, keepPolicy }] }) => ({
    create,
    errorIfExists,
    keepPolicy,
  }));
  assert.deepEqual(first, { create: true, errorIfExists: true, keepPolicy: false });
  assert.deepEqual(again, { create: false, errorIfExists: false, keepPolicy: true });
  await db.close();
});

test("a keyspace is restored by id, not by name", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("ids", { worker });
  await db.keyspace("users").get("k");
  dispatch("pagehide");
  await settle();
  dispatch("pageshow");
  await db.get("k");
  const again = started[1].requests.filter(({ op }) => op === "call");
  assert.deepEqual(
    again.map(({ method, args }) => [method, args[1]]),
    [["restore_keyspace", 7]],
  );
  await db.close();
});

test("hiding the page syncs a store that is open", async () => {
  const { started, worker } = workers(emptyStore);
  const opening = open("concealed", { worker });
  document.visibilityState = "hidden";
  dispatch("visibilitychange", document);
  const db = await opening;
  dispatch("visibilitychange", document);
  document.visibilityState = "visible";
  await settle();
  assert.deepEqual(started[0].operations, ["open", "sync", "show"]);
  await db.close();
});

test("concurrent closes succeed, and one during pagehide", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("closes", { worker });
  assert.deepEqual(await Promise.all([db.close(), db.close()]), [undefined, undefined]);
  assert.deepEqual(started[0].operations, ["open", "close"]);
  const again = await open("closes", { worker });
  dispatch("pagehide");
  await again.close();
  assert.deepEqual(started[1].operations, ["open", "suspend"]);
});

test("openings of one page share a worker until the last close", async () => {
  const { started, worker } = workers(emptyStore);
  const [one, two] = await Promise.all([open("shared", { worker }), open("shared", { worker })]);
  assert.equal(started.length, 1);
  const snapshot = one.snapshot();
  const listening = one.events().next();
  await one.close();
  assert.ok((await listening).done);
  assert.deepEqual(
    started[0].operations.filter((name) => ["sync", "release", "close"].includes(name)),
    ["sync", "release"],
  );
  for (const call of [() => one.get("k"), () => one.put("k", "v"), () => snapshot.get("k")]) {
    await assert.rejects(call, ClosedError);
  }
  await assert.rejects(one.keyspace("users").get("k"), ClosedError);
  await assert.rejects(one.entries().next(), ClosedError);
  assert.equal(await two.get("k"), undefined);
  await two.close();
  assert.ok(started[0].terminated);
  const three = await open("shared", { worker });
  assert.equal(started.length, 2);
  await three.close();
});

test("a page's own open store is refused at once", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("own", { worker });
  const refused = { code: "busy", message: 'store "own" is open here; close it first' };
  await assert.rejects(destroy("own", { worker }), refused);
  await assert.rejects(importStore("own", new Blob([]), { worker }), refused);
  assert.equal(started.length, 1);
  await db.close();
  await destroy("own", { worker });
  assert.deepEqual(started[1].operations, ["destroy"]);
});

test("a closed store has no snapshots and no transactions", async () => {
  const { worker } = workers(emptyStore);
  const [db, other] = [await open("closed", { worker }), await open("closed", { worker })];
  await db.close();
  assert.throws(() => db.snapshot(), ClosedError);
  await assert.rejects(
    db.transact(async () => "done"),
    ClosedError,
  );
  await other.transact(async () => "done");
  await other.close();
});

test("a second opening applies its own policy", async () => {
  const { started, worker } = workers(emptyStore);
  const db = await open("second", { worker });
  await assert.rejects(open("second", { worker, errorIfExists: true }), {
    code: "invalid-argument",
    message: 'place of a new store: expected no store there yet, found one in "second"',
  });
  const other = await open("second", { worker, policy: "tiered" });
  assert.ok(started[0].operations.includes("set_policy"));
  await other.close();
  assert.equal(await db.get("k"), undefined);
  await db.close();
});

test("aborting one opening keeps the worker of the other", async () => {
  const { started, worker } = workers(mute);
  const off = new AbortController();
  const given = open("given-up", { worker, signal: off.signal });
  const kept = open("given-up", { worker });
  await settle();
  off.abort();
  await assert.rejects(given, { code: "aborted" });
  assert.ok(!started[0].terminated);
  started[0].send({ id: 1, value: { store: 1 } });
  started[0].reply = emptyStore;
  await (await kept).close();
});

test("a failed opening fails only its own caller", async () => {
  const missing = () => ({ error: { code: "not-found", message: "there is no store" } });
  const { started, worker } = workers(missing, emptyStore);
  const first = open("own-failure", { worker, create: false });
  const second = open("own-failure", { worker });
  await assert.rejects(first, { code: "not-found" });
  await (await second).close();
  assert.deepEqual(
    started.map(({ requests: [{ create }] }) => create),
    [false, true],
  );
});

test("a worker's death fails all calls of a store that nobody shares", async () => {
  const dying = (request) => (request.op === "open" ? emptyStore(request) : undefined);
  for (const options of [{ exclusive: true }, { storage: "memory" }]) {
    const { worker } = workers(dying, emptyStore);
    const db = await open("dies", { ...options, worker });
    await settle();
    const waiting = db.get("k");
    waiting.catch(() => undefined);
    die("alive");
    await assert.rejects(waiting, EngineError);
    await assert.rejects(db.get("k"), EngineError);
    await db.close();
    await (await open("dies", { ...options, worker })).close();
  }
});

test("after a worker's death another starts, but only once unused", async () => {
  const dying = (request) => (request.op === "open" ? emptyStore(request) : undefined);
  const { started, worker } = workers(dying, emptyStore);
  const db = await open("dies", { worker });
  await settle();
  const waiting = db.put("k", "v");
  waiting.catch(() => undefined);
  die("alive");
  await assert.rejects(waiting, EngineError);
  assert.equal(db.role, "none");
  await settle();
  assert.equal(db.role, "leader");
  assert.deepEqual(started[1].operations, ["open", "ended"]);
  // A worker that dies again before a call could do so for ever, so it is not replaced.
  die("alive");
  while (db.role !== "none") await settle();
  await settle();
  assert.equal(started.length, 2);
  assert.equal(await db.get("k"), undefined);
  assert.deepEqual(started[2].operations, ["open", "ended", "lookup"]);
  await db.close();
});

test("a close succeeds whose lock is released before its reply arrives", async () => {
  const closing = (request) => {
    if (request.op === "close") die("alive");
    return emptyStore(request);
  };
  const { worker } = workers(closing);
  const db = await open("closes", { worker });
  await settle();
  await db.close();
});

/** The client through what happens to a page, with stubs for its workers. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { busy, die, document, happen, locks, mute, settle, sound, workers } from "./page.js";
const { BusyError, ClosedError, EngineError, open } = await import("../dist/index.js");

beforeEach(() => {
  locks.held.clear();
  locks.waiting.length = 0;
  locks.query = undefined;
});

/** What became of a promise by now. */
async function fate(promise) {
  const pending = Symbol();
  await settle();
  const settled = Promise.race([promise, Promise.resolve(pending)]);
  return settled.then(
    (value) => (value === pending ? "pending" : "done"),
    (error) => error.code,
  );
}

test("a page hidden while it opens keeps no worker, and opens when shown", async () => {
  const { started, worker } = workers(mute, sound);
  const opening = open("hidden-opening", { worker });
  await settle();
  happen("pagehide");
  assert.ok(started[0].terminated);
  assert.equal(await fate(opening), "pending");
  happen("pageshow");
  const db = await opening;
  assert.equal(await db.get("k"), undefined);
  await db.close();
});

test("a page hidden again while it reopens lets go again", async () => {
  const { started, worker } = workers(sound, mute, sound);
  const db = await open("hidden-twice", { worker });
  happen("pagehide");
  await settle();
  happen("pageshow");
  const waiting = db.get("k");
  await settle();
  happen("pagehide");
  assert.ok(started[1].terminated);
  happen("pageshow");
  await waiting;
  assert.deepEqual(started[2].operations, ["open", "get"]);
  await db.close();
});

test("a frozen page lets go of the store, and takes it when it goes on", async () => {
  const { started, worker } = workers(sound);
  const db = await open("frozen", { worker });
  void db.put("k", "v");
  happen("freeze", document);
  happen("pagehide");
  await settle();
  assert.deepEqual(started[0].operations, ["open", "write", "leave"]);
  happen("resume", document);
  happen("pageshow");
  await db.get("k");
  assert.ok(started[0].terminated);
  assert.equal(started.length, 2);
  await db.close();
});

test("a store in memory stays as it is when the page hides", async () => {
  const { started, worker } = workers(sound);
  const db = await open("memory", { storage: "memory", worker });
  happen("pagehide");
  happen("pageshow");
  await db.get("k");
  assert.deepEqual(started[0].operations, ["open", "get"]);
  await db.close();
});

test("a worker that died while the page was away fails its calls alone", async () => {
  const dying = (request) => (request.op === "open" ? sound(request) : undefined);
  const { started, worker } = workers(dying, sound);
  const db = await open("died", { worker });
  const lost = db.put("k", "v");
  lost.catch(() => undefined);
  happen("pagehide");
  happen("pageshow");
  await db.get("k");
  await assert.rejects(lost, EngineError);
  assert.ok(started[0].terminated);
  await db.close();
});

test("a store taken by another page is busy until it is free again", async () => {
  const { started, worker } = workers(sound, busy, busy, sound);
  const db = await open("taken", { worker });
  const events = db.events();
  happen("pagehide");
  await settle();
  happen("pageshow");
  await assert.rejects(db.get("k"), BusyError);
  await assert.rejects(db.put("k", "v"), BusyError);
  assert.equal(await db.get("k"), undefined);
  assert.equal(started.length, 4);
  assert.ok(started[3].operations.includes("listen"));
  await events.return();
  await db.close();
});

test("a store that cannot be taken again can be closed", async () => {
  const { worker } = workers(sound, busy);
  const db = await open("closed-aside", { worker });
  happen("pagehide");
  await settle();
  happen("pageshow");
  await assert.rejects(db.get("k"), BusyError);
  await db.close();
  await assert.rejects(db.get("k"), ClosedError);
});

test("a store is reopened as it is: not as a new one, nor with its first policy", async () => {
  const { started, worker } = workers(sound);
  const options = { worker, errorIfExists: true, policy: "tiered" };
  const db = await open("as-it-is", options);
  happen("pagehide");
  await settle();
  happen("pageshow");
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

test("a keyspace is reopened by its id, whatever now has its name", async () => {
  const { started, worker } = workers(sound);
  const db = await open("ids", { worker });
  await db.keyspace("users").get("k");
  happen("pagehide");
  await settle();
  happen("pageshow");
  await db.get("k");
  const again = started[1].requests.filter(({ op }) => op === "call");
  assert.deepEqual(
    again.map(({ method, args }) => [method, args[1]]),
    [["keyspace_again", 7]],
  );
  await db.close();
});

test("a hidden page is asked to sync, and one that opens is not", async () => {
  const { started, worker } = workers(sound);
  const opening = open("concealed", { worker });
  document.visibilityState = "hidden";
  happen("visibilitychange", document);
  const db = await opening;
  happen("visibilitychange", document);
  document.visibilityState = "visible";
  await settle();
  assert.deepEqual(started[0].operations, ["open", "sync"]);
  await db.close();
});

test("two closes at once both end well, and so does one in pagehide", async () => {
  const { started, worker } = workers(sound);
  const db = await open("closes", { worker });
  assert.deepEqual(await Promise.all([db.close(), db.close()]), [undefined, undefined]);
  assert.deepEqual(started[0].operations, ["open", "close"]);
  const again = await open("closes", { worker });
  happen("pagehide");
  await again.close();
  assert.deepEqual(started[1].operations, ["open", "leave"]);
});

test("openings of one page share a worker, which the last one closes", async () => {
  const { started, worker } = workers(sound);
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

test("a second opening asks what the first did not", async () => {
  const { started, worker } = workers(sound);
  const db = await open("second", { worker });
  await assert.rejects(open("second", { worker, errorIfExists: true }), {
    code: "invalid-argument",
  });
  const other = await open("second", { worker, policy: "tiered" });
  assert.ok(started[0].operations.includes("set_policy"));
  await other.close();
  assert.equal(await db.get("k"), undefined);
  await db.close();
});

test("an opening that was given up leaves the other its worker", async () => {
  const { started, worker } = workers(mute);
  const off = new AbortController();
  const given = open("given-up", { worker, signal: off.signal });
  const kept = open("given-up", { worker });
  off.abort();
  await assert.rejects(given, { code: "aborted" });
  assert.ok(!started[0].terminated);
  started[0].send({ id: 1, value: null });
  started[0].reply = sound;
  await (await kept).close();
});

test("an opening that fails is the failure of its own caller", async () => {
  const missing = () => ({ error: { code: "not-found", message: "there is no store" } });
  const { started, worker } = workers(missing, sound);
  const first = open("own-failure", { worker, create: false });
  const second = open("own-failure", { worker });
  await assert.rejects(first, { code: "not-found" });
  await (await second).close();
  assert.deepEqual(
    started.map(({ requests: [{ create }] }) => create),
    [false, true],
  );
});

test("a worker that dies fails what waits, also of a store in memory", async () => {
  const dying = (request) => (request.op === "open" ? sound(request) : undefined);
  for (const storage of ["opfs", "memory"]) {
    const { worker } = workers(dying, sound);
    const db = await open("dies", { storage, worker });
    await settle();
    const waiting = db.get("k");
    waiting.catch(() => undefined);
    die("alive");
    await assert.rejects(waiting, EngineError);
    await assert.rejects(db.get("k"), EngineError);
    await db.close();
    await (await open("dies", { storage, worker })).close();
  }
});

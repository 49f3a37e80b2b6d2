/** Followers and changes of leader, with a stub for the worker of another page. */

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { busy, die, dispatch, document, emptyStore, locks, settle, workers } from "./page.js";
const { BusyError, ClosedError, open, UnavailableError } = await import("../dist/index.js");

beforeEach(() => locks.clear());

/** Waits until messages of channels, which take longer than others, have arrived. */
async function until(condition) {
  while (!condition()) await new Promise((passed) => setTimeout(passed, 1));
}

let leaders = 0;

/** The worker of another page, which answers what `reply` returns; undefined is no answer. */
class Leader {
  requests = [];
  channels = [];
  clients = [];

  constructor(store, reply = emptyStore, protocol = 1, number = 1) {
    this.store = number;
    this.reply = reply;
    this.protocol = protocol;
    this.id = `leader ${++leaders}`;
    locks.hold(this.id);
    this.lead = `terrane-lead:${store}`;
    locks.hold(this.lead);
    this.channel = new BroadcastChannel(`terrane:${store}`);
    this.channel.onmessage = ({ data }) => this.receive(data);
    this.announce();
  }

  announce() {
    const leads = { id: this.id, lock: this.id, page: "https://other", store: this.store };
    this.channel.postMessage({ protocol: this.protocol, leads });
  }

  receive({ seeks, joins, leader }) {
    if (seeks !== undefined) this.announce();
    if (leader !== this.id) return;
    this.clients.push(joins);
    const channel = new BroadcastChannel(`terrane:${this.id}:${joins}`);
    this.channels.push(channel);
    channel.onmessage = ({ data }) => {
      for (const request of data) {
        if (request.op !== "ping") this.requests.push(request);
        const value = this.reply(request, this);
        if (value !== undefined) channel.postMessage([{ id: request.id, ...value }]);
      }
    };
    channel.postMessage([]);
  }

  /** Dies, or leaves the store to others. */
  end(leadsNoLonger = true) {
    for (const channel of [this.channel, ...this.channels]) channel.close();
    die(this.id);
    if (leadsNoLonger) die(this.lead);
  }

  get operations() {
    return this.requests.map(({ op, method }) => method ?? op);
  }
}

test("a follower starts no worker, and its options apply", async () => {
  const leader = new Leader("followed");
  const { started, worker } = workers(emptyStore);
  const db = await open("followed", { worker, policy: "tiered" });
  assert.equal(db.role, "follower");
  assert.equal(started.length, 0);
  assert.deepEqual(leader.operations, ["set_policy"]);
  const again = open("followed", { worker, errorIfExists: true });
  await assert.rejects(again, { code: "invalid-argument" });
  await db.close();
  leader.end();
});

test("calls without an answer go to the next leader, numbered", async () => {
  const answers = ({ op }) => (op === "write" ? undefined : { value: null });
  const leader = new Leader("next", answers);
  const { started, worker } = workers(emptyStore);
  const db = await open("next", { worker });
  const users = db.keyspace("users");
  await db.keyspaces().catch(() => undefined);
  const writes = [db.put("a", "1"), db.put("b", "2", { durability: "sync" })];
  await until(() => leader.operations.filter((op) => op === "write").length === 2);
  leader.end();
  await Promise.all(writes);
  assert.equal(db.role, "leader");
  const sent = started[0].requests;
  assert.ok(sent.some(({ method }) => method === "restore_keyspace"));
  const numbers = (requests) => requests.flatMap(({ once }) => once?.number ?? []);
  assert.deepEqual(numbers(sent), [1, 2]);
  assert.deepEqual(numbers(leader.requests), [1, 2]);
  // Of its own worker's writes nothing is recorded.
  await users.put("c", "3");
  assert.deepEqual(numbers(sent), [1, 2]);
  await db.close();
});

test("nothing is sent after a conditional write until it is answered", async () => {
  let answer;
  const leader = new Leader("conditional", (request) => {
    if (request.method !== "write_if") return emptyStore(request);
    answer = () => ({ id: request.id, value: new Uint8Array(Float64Array.of(7).buffer) });
    return undefined;
  });
  const { worker } = workers(emptyStore);
  const db = await open("conditional", { worker });
  const first = db.put("a", "1");
  const swap = db.batch([{ type: "put", key: "k", value: "v" }], {
    if: [{ key: "k", exists: false }],
  });
  const later = Promise.all([db.put("b", "2"), db.get("b")]);
  await until(() => answer !== undefined);
  await first;
  assert.deepEqual(leader.operations, ["write", "write_if"]);
  leader.channels[0].postMessage([answer()]);
  assert.equal(await swap, 7);
  await later;
  assert.deepEqual(leader.operations, ["write", "write_if", "write", "lookup"]);
  await db.close();
  leader.end();
});

test("nothing is sent after a call that is recorded at its end", async () => {
  const answers = [];
  const leader = new Leader("alone", ({ id, method }) => {
    if (method === undefined || method === "stats") return { value: null };
    answers.push(() => ({ id, value: "0" }));
    return undefined;
  });
  const { worker } = workers(emptyStore);
  const db = await open("alone", { worker });
  const calls = [
    () => db.clear(),
    () => db.dropKeyspace("users"),
    () => db.setPolicy("tiered"),
    () => db.keyspace("logs", { policy: "tiered" }).count(),
  ];
  for (const [at, start] of calls.entries()) {
    const call = start();
    // The stub answers nothing that a scan could use.
    call.catch(() => undefined);
    const later = db.put("k", "v");
    await until(() => answers.length > at);
    assert.equal(leader.requests.at(-1).once.number, 2 * at + 1);
    leader.channels[0].postMessage([answers[at]()]);
    await later;
    assert.equal(leader.requests.at(-1).once.number, 2 * at + 2);
  }
  await db.close();
  leader.end();
});

test("writes before and after a conditional one reach the next leader", async () => {
  const isWrite = ({ op, method }) => op === "write" || method === "write_if";
  const leader = new Leader("again", (request) => (isWrite(request) ? undefined : { value: null }));
  const { worker } = workers(emptyStore);
  const db = await open("again", { worker });
  const first = db.put("a", "1");
  const swap = db.batch([{ type: "put", key: "k", value: "v" }], {
    if: [{ key: "k", exists: false }],
  });
  const last = db.put("b", "2");
  await until(() => leader.operations.includes("write_if"));
  const written = { value: new Uint8Array(Float64Array.of(7).buffer) };
  const reply = (request) => (request.method === "write_if" ? written : { value: 7 });
  // Another page has the lead lock.
  leader.end(false);
  const next = new Leader("again", reply);
  assert.deepEqual(await Promise.all([first, swap, last]), [7, 7, 7]);
  assert.deepEqual(
    next.operations.filter((op) => op.startsWith("write")),
    ["write", "write_if", "write"],
  );
  await db.close();
  next.end();
});

test("a copy under way ends when the leader does", async () => {
  const leader = new Leader("copied", ({ op }) => (op === "export" ? undefined : { value: null }));
  const { worker } = workers(emptyStore);
  const db = await open("copied", { worker });
  const copy = assert.rejects(db.export(), ClosedError);
  await until(() => leader.operations.includes("export"));
  leader.end();
  await copy;
  await db.close();
});

test("calls to a leader that does not answer fail after the timeout", async () => {
  let stopped = true;
  const leader = new Leader("stopped", (request) => (stopped ? undefined : emptyStore(request)));
  const { worker } = workers(emptyStore);
  const db = await open("stopped", { worker, timeout: 10 });
  await assert.rejects(db.put("k", "v"), (error) => {
    assert.ok(error instanceof BusyError);
    assert.match(error.message, /https:\/\/other, does not answer; a write may still take effect/);
    return true;
  });
  stopped = false;
  assert.equal(await db.get("k"), undefined);
  await db.close();
  leader.end();
});

test("a newer release's leader is not followed", async () => {
  const leader = new Leader("newer", emptyStore, 2);
  const { worker } = workers(emptyStore);
  await assert.rejects(open("newer", { worker }), { code: "busy", message: /reload this page/ });
  leader.end();
});

test("a leader whose lock is not seen cannot be followed", async () => {
  const leader = new Leader("apart");
  die(leader.id);
  const { worker } = workers(emptyStore);
  await assert.rejects(open("apart", { worker }), {
    code: "unavailable",
    message: /storage was cleared while this page was open: reload it/,
  });
  leader.end();
});

test("a page that leads without the lead lock is followed", async () => {
  const leader = new Leader("without");
  die(leader.lead);
  // The store is busy once the page has been heard.
  const heard = new BroadcastChannel("terrane:without");
  const { started, worker } = workers((request, stub) => {
    heard.onmessage = async () => {
      await settle();
      stub.send({ id: request.id, ...busy(request) });
    };
    leader.announce();
    return undefined;
  });
  const db = await open("without", { worker });
  heard.close();
  assert.equal(db.role, "follower");
  assert.ok(started[0].terminated);
  await db.close();
  leader.end();
});

test("another store of the same name is not followed", async () => {
  const leader = new Leader("replaced");
  const { started, worker } = workers(emptyStore);
  const db = await open("replaced", { worker });
  leader.end();
  const other = new Leader("replaced", emptyStore, 1, 2);
  const gone = {
    code: "not-found",
    message: /"replaced" was removed, and another one has its name/,
  };
  await assert.rejects(db.get("k"), gone);
  await assert.rejects(db.put("k", "v"), gone);
  assert.deepEqual([db.role, other.clients, started.length], ["none", [], 0]);
  await db.close();
  const again = await open("replaced", { worker });
  assert.equal(await again.get("k"), undefined);
  await again.close();
  other.end();
});

test("a page does not open another store of the same name again", async () => {
  const another = (request) => {
    const reply = emptyStore(request);
    return request.op === "open" ? { value: { ...reply.value, store: 2 } } : reply;
  };
  const { started, worker } = workers(emptyStore, another);
  const db = await open("reopened", { worker });
  dispatch("pagehide");
  await settle();
  dispatch("pageshow");
  await assert.rejects(db.get("k"), { code: "not-found" });
  await assert.rejects(db.get("k"), { code: "not-found" });
  assert.deepEqual(started[1].operations, ["open"]);
  assert.ok(started[1].terminated);
  await db.close();
});

test("a store whose files are gone stays gone", async () => {
  const leader = new Leader("gone");
  const { worker } = workers(emptyStore);
  const db = await open("gone", { worker });
  const error = { code: "not-found", message: "the store's files were removed underneath it" };
  leader.channels[0].postMessage([{ id: 0, error }]);
  await until(() => db.role === "none");
  leader.announce();
  await settle();
  await assert.rejects(db.get("k"), error);
  assert.equal(leader.clients.length, 1);
  await db.close();
  leader.end();
});

test("messages that cannot be understood are ignored", async () => {
  const leader = new Leader("noise");
  const { worker } = workers(emptyStore);
  const db = await open("noise", { worker });
  const messages = [undefined, 7, {}, { protocol: "x", leads: {} }, { protocol: 1 }, [null], [7]];
  for (const noise of messages) {
    leader.channel.postMessage(noise);
    leader.channels[0].postMessage(noise);
  }
  assert.equal(await db.get("k"), undefined);
  await db.close();
  leader.end();
});

test("a follower leaves the store when suspended, under another id", async () => {
  const leader = new Leader("aside");
  const { worker } = workers(emptyStore);
  const db = await open("aside", { worker });
  await db.put("k", "v");
  dispatch("pagehide");
  await settle();
  assert.ok(![...locks.held].some(({ name }) => name.startsWith("terrane-client:")));
  dispatch("pageshow");
  await db.get("k");
  assert.equal(new Set(leader.clients).size, 2);
  await db.close();
  leader.end();
});

test("a suspended follower that waits for a write keeps its lock", async () => {
  const leader = new Leader("waits", ({ op }) => (op === "write" ? undefined : { value: null }));
  const { worker } = workers(emptyStore);
  const db = await open("waits", { worker });
  const write = db.put("k", "v");
  await until(() => leader.operations.includes("write"));
  dispatch("pagehide");
  await settle();
  assert.ok(
    [...locks.held].some(({ name }) => name.startsWith(`terrane-client:${leader.clients[0]}:`)),
  );
  dispatch("pageshow");
  const [{ id }] = leader.requests;
  leader.channels[0].postMessage([{ id, value: 1 }]);
  assert.equal(await write, 1);
  assert.equal(leader.clients.length, 1);
  await db.close();
  leader.end();
});

test("a client suspended before it has its lock gets another", async () => {
  const leader = new Leader("early");
  const { worker } = workers(emptyStore);
  const { request } = navigator.locks;
  let suspended = false;
  navigator.locks.request = (name, ...rest) => {
    const isFirst = name.startsWith("terrane-client:") && !suspended;
    if (isFirst) queueMicrotask(() => dispatch("pagehide"));
    suspended ||= isFirst;
    return request(name, ...rest);
  };
  const opening = open("early", { worker });
  await until(() => suspended);
  await settle();
  navigator.locks.request = request;
  dispatch("pageshow");
  const db = await opening;
  const held = [...locks.held].map(({ name }) => name).filter((name) => /-client:/.test(name));
  assert.deepEqual(held, [`terrane-client:${leader.clients.at(-1)}:early`]);
  await db.close();
  leader.end();
});

test("a leader that leaves while a client joins it is noticed", async () => {
  // The page's own worker dies without its last replies, for which the page waits after it has joined.
  const dies = (request) => (request.op === "suspend" ? undefined : emptyStore(request));
  const { started, worker } = workers(dies, emptyStore);
  const db = await open("joining", { worker });
  dispatch("pagehide");
  await settle();
  const leader = new Leader("joining");
  dispatch("pageshow");
  await until(() => leader.clients.length > 0);
  await settle();
  leader.end();
  assert.equal(await db.get("k"), undefined);
  assert.deepEqual([db.role, started.length], ["leader", 2]);
  await db.close();
});

/** Opens a store, lets time pass, and returns the error by then. */
async function failedWithin(milliseconds, name, timeout) {
  // With what is loaded later, which takes another time.
  await import("../dist/whole.js");
  mock.timers.enable({ apis: ["setTimeout"] });
  const aborter = new AbortController();
  let failure;
  open(name, { timeout, signal: aborter.signal }).catch((error) => (failure ??= error));
  await settle();
  mock.timers.tick(milliseconds);
  await settle();
  const found = failure;
  aborter.abort();
  mock.timers.reset();
  return found;
}

test("without a page to follow, a worker that cannot lead says so", async () => {
  globalThis.SharedWorkerGlobalScope = class {};
  assert.ok((await failedWithin(10, "nobody", 10)) instanceof UnavailableError);
  delete globalThis.SharedWorkerGlobalScope;
});

test("a short timeout is kept unless a page may yet answer", async () => {
  const holder = { name: "kept", page: "https://other", client: "other", since: "noon" };
  const hold = (more) => locks.hold(`terrane-holder:${JSON.stringify({ ...holder, ...more })}`);
  // Another page waits for it, and leads once it gets it.
  locks.hold("terrane-lead:kept");
  const alone = hold({});
  const failure = await failedWithin(10, "kept", 10);
  assert.ok(failure instanceof BusyError);
  assert.match(failure.message, /https:\/\/other, since noon/);
  locks.free(alone);
  hold({ leader: "leader" });
  assert.equal(await failedWithin(10, "kept", 10), undefined);
});

test("a page lets another lead if its worker agrees", async () => {
  let agrees = false;
  const reply = (request) => (request.op === "handOver" ? { value: agrees } : emptyStore(request));
  const { started, worker } = workers(reply);
  const db = await open("visible", { worker });
  const ask = () => started[0].send({ id: 0, value: { successor: "other" } });
  ask();
  await until(() => started[0].operations.includes("handOver"));
  assert.equal(await db.get("k"), undefined);
  assert.equal(db.role, "leader");
  agrees = true;
  ask();
  await until(() => db.role === "none");
  const leader = new Leader("visible");
  assert.equal(await db.get("k"), undefined);
  assert.equal(db.role, "follower");
  assert.ok(started[0].terminated);
  await db.close();
  leader.end();
  assert.equal(document.visibilityState, "visible");
});

test("a dead leader of an older store of the name is not the first", async () => {
  const older = new Leader("replaced", emptyStore, 1, 2);
  die(older.id);
  const { started, worker } = workers(emptyStore);
  // It has been heard once its lock is looked for.
  locks.query = async () => {
    locks.query = undefined;
    older.end();
    return { held: [] };
  };
  const db = await open("replaced", { worker });
  assert.equal(started.length, 1);
  assert.equal(db.role, "leader");
  await db.close();
});

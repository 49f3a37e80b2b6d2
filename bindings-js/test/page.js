/** A page without a browser: its events, its locks, and workers that are stubs. */

import { setImmediate as later } from "node:timers/promises";

/** The page's window, and its document. */
const page = new EventTarget();
export const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
/**
 * The origin's locks: those that are held, and the requests that wait, each with its name; both in order. Others hold a
 * lock with `hold`, as workers do, until it is released by `die`.
 */
export const locks = {
  held: new Set(),
  waiting: [],
  query: undefined,
  hold(name) {
    const held = { name, release: () => locks.free(held) };
    locks.held.add(held);
    return held;
  },
  free(held) {
    locks.held.delete(held);
    locks.grant();
  },
  grant() {
    for (const waiting of [...locks.waiting]) {
      if (!locks.waiting.includes(waiting) || !mayHold(waiting)) continue;
      locks.waiting.splice(locks.waiting.indexOf(waiting), 1);
      waiting.take();
    }
  },
  clear() {
    locks.held.clear();
    locks.waiting.length = 0;
    locks.query = undefined;
  },
};

/** Whether no lock that is held, and no request before this one, keeps it from being granted. */
function mayHold({ name, mode, waiting }) {
  const conflicts = (other) =>
    other.name === name && (mode !== "shared" || other.mode !== "shared");
  const before = locks.waiting.slice(0, Math.max(locks.waiting.indexOf(waiting), 0));
  return ![...locks.held, ...before].some(conflicts);
}

function request(name, options, granted) {
  return new Promise((resolve, reject) => {
    const { mode = "exclusive", signal } = options;
    const waiting = { name, mode };
    waiting.waiting = waiting;
    waiting.take = () => {
      const held = { name, mode };
      locks.held.add(held);
      const ended = Promise.resolve(granted({ name }));
      resolve(ended.finally(() => locks.free(held)));
    };
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener("abort", () => {
      const at = locks.waiting.indexOf(waiting);
      if (at < 0) return;
      locks.waiting.splice(at, 1);
      reject(signal.reason);
      locks.grant();
    });
    locks.waiting.push(waiting);
    setImmediate(locks.grant);
  });
}

/** The globals of a browser. */
const globals = {
  addEventListener: page.addEventListener.bind(page),
  removeEventListener: page.removeEventListener.bind(page),
  document,
  isSecureContext: true,
  location: { href: "http://localhost/page", origin: "http://localhost", pathname: "/page" },
  navigator: {
    locks: {
      request,
      query: () =>
        locks.query?.() ?? Promise.resolve({ held: [...locks.held].map(({ name }) => ({ name })) }),
    },
    storage: { getDirectory() {} },
  },
  Worker: class {},
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

/** Dispatches an event to the page, or with `target` to its document. */
export function dispatch(type, target = page) {
  target.dispatchEvent(new Event(type));
}

/** Waits until pending messages and promises are done. */
export async function settle() {
  for (let turn = 0; turn < 20; turn++) await later();
}

/** Releases the locks of that name which workers hold, as their death does. */
export function die(name) {
  for (const held of locks.held) if (held.name === name) locks.free(held);
}

/** The requests of a message, as src/codec/flat.ts describes it. */
function unpack(message) {
  if (typeof message === "string") {
    const [, fields, key] = /^((?:\d+ ){4})(.*)$/su.exec(message);
    const [id, keyspace, snapshot, text] = fields.split(" ").map(Number);
    return [{ id, op: "lookup", keyspace, snapshot, key, text: text === 1 }];
  }
  const [id, batch, sync] = message;
  return typeof id === "number" ? [{ id, op: "write", batch, sync }] : message;
}

/** The replies of a message, as src/codec/flat.ts describes it. */
export function unpackReplies(message) {
  if (typeof message !== "string") {
    return typeof message[0] === "number" ? [{ id: message[0], value: message[1] }] : message;
  }
  const [, id, value] = /^(\d+) (.*)$/su.exec(message);
  return [{ id: Number(id), value }];
}

/** A worker that replies to each request with what `reply` returns, or not at all if undefined. */
export class Stub {
  requests = [];
  terminated = false;

  constructor(reply) {
    this.reply = reply;
  }

  postMessage(requests, transfer) {
    if (this.terminated) return;
    for (const request of unpack(structuredClone(requests, { transfer }))) {
      this.requests.push(request);
      const value = this.reply(request, this);
      if (value !== undefined) this.send({ id: request.id, ...value });
    }
  }

  send(...replies) {
    setImmediate(() => {
      if (!this.terminated) this.onmessage({ data: replies });
    });
  }

  terminate() {
    this.terminated = true;
  }

  /** The names of the operations that were requested. */
  get operations() {
    return this.requests.map(({ op, method }) => method ?? op);
  }
}

/** Starts stubs and keeps them; the nth replies as `replies[n]` does, further ones as the last. */
export function workers(...replies) {
  const started = [];
  const worker = () => {
    const reply = replies[Math.min(started.length, replies.length - 1)];
    const stub = new Stub(reply);
    started.push(stub);
    return stub;
  };
  return { started, worker };
}

/** Replies as an empty store does. */
export function emptyStore({ op, method }) {
  if (op === "open") {
    locks.hold("alive");
    return { value: { lock: "alive", store: 1 } };
  }
  if (op === "lookup") return { value: undefined };
  if (op === "get") return { value: new Uint8Array([1, 0, 0, 0, 255, 255, 255, 255]) };
  if (op === "page") return { value: { bytes: new Uint8Array(8), done: true } };
  if (op === "count") return { value: { entries: 0, done: true } };
  if (method === "keyspace") return { value: 7 };
  if (method === "keyspaces") return { value: '[[0,"default"]]' };
  return { value: null };
}

/** Never replies. */
export const mute = () => undefined;

/** Fails to open the store, which another page holds. */
export function busy(request) {
  if (request.op !== "open") return emptyStore(request);
  return { error: { code: "busy", message: "the store is open in another tab" } };
}

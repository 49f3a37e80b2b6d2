/** A page without a browser: its events, its locks, and workers that are stubs. */

import { setImmediate as later } from "node:timers/promises";

/** The page's window, and its document. */
const page = new EventTarget();
export const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
/** The names of the locks that are held, and the requests that wait. */
export const locks = { held: new Set(), waiting: [], query: undefined };

const request = (name, options, granted) =>
  new Promise((resolve, reject) => {
    // Only requests that watch a worker have a signal.
    if (options.signal === undefined) {
      locks.held.add(name);
      return resolve(granted({ name }));
    }
    options.signal.addEventListener("abort", () => reject(options.signal.reason));
    locks.waiting.push({ name, granted: () => resolve(granted({ name })) });
  });

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
        locks.query?.() ?? Promise.resolve({ held: [...locks.held].map((name) => ({ name })) }),
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

/** Releases the lock of a worker, as its death does. */
export function die(lock) {
  locks.held.delete(lock);
  for (const { name, granted } of locks.waiting) if (name === lock) granted();
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
    for (const request of structuredClone(requests, { transfer })) {
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
    locks.held.add("alive");
    return { value: "alive" };
  }
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

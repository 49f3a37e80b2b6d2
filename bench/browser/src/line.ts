/**
 * A thin message layer between a page and a worker that has a store, of the cost that a careful
 * application would pay: calls of one turn travel in one message, keys and values in one buffer that
 * is transferred.
 */

import type { Store } from "./contender.ts";
import { concatenate, entriesOf, KEY, split, VALUE } from "./codec.ts";

interface Call {
  id: number;
  op: "batch" | "put" | "get" | "getMany" | "scan" | "close";
  bytes: Uint8Array<ArrayBuffer>;
  count: number;
}

interface Reply {
  id: number;
  bytes?: Uint8Array<ArrayBuffer>;
  error?: string;
}

/** The page's end: a store that asks the worker behind `port`. */
export function askStore(port: Worker): Store {
  let lastId = 0;
  let outbox: Call[] = [];
  const waiting = new Map<number, PromiseWithResolvers<Uint8Array<ArrayBuffer>>>();
  port.onmessage = ({ data: replies }: MessageEvent<Reply[]>) => {
    for (const { id, bytes, error } of replies) {
      const { resolve, reject } = waiting.get(id)!;
      waiting.delete(id);
      if (error === undefined) resolve(bytes!);
      else reject(new Error(error));
    }
  };
  const send = () => {
    port.postMessage(
      outbox,
      outbox.map(({ bytes }) => bytes.buffer),
    );
    outbox = [];
  };
  const call = (op: Call["op"], strings: readonly Uint8Array[] = [], count = 0) => {
    if (outbox.length === 0) queueMicrotask(send);
    const id = ++lastId;
    outbox.push({ id, op, bytes: concatenate(strings), count });
    const reply = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
    waiting.set(id, reply);
    return reply.promise;
  };
  const done = () => undefined;
  return {
    batch: (entries) => call("batch", entries.flat()).then(done),
    put: (entry) => call("put", entry).then(done),
    get: (key) => call("get", [key]).then((bytes) => (bytes.length > 0 ? bytes : undefined)),
    getMany: (keys) => call("getMany", keys).then((bytes) => split(bytes, VALUE)),
    scan: (from, count) => call("scan", [from], count).then(entriesOf),
    close: () => call("close").then(done),
  };
}

/** The worker's end: carries out what the page asks of `store`, one call after the other. */
export function serve(store: Store, port: DedicatedWorkerGlobalScope): void {
  port.onmessage = async ({ data: calls }: MessageEvent<Call[]>) => {
    const replies: Reply[] = [];
    for (const { id, ...call } of calls) {
      try {
        replies.push({ id, bytes: concatenate(await perform(store, call)) });
      } catch (error) {
        replies.push({ id, error: String(error) });
      }
    }
    const buffers = replies.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes.buffer]));
    port.postMessage(replies, buffers);
  };
}

async function perform(
  store: Store,
  { op, bytes, count }: Omit<Call, "id">,
): Promise<readonly Uint8Array[]> {
  switch (op) {
    case "batch":
      await store.batch(entriesOf(bytes));
      return [];
    case "put":
      await store.put(entriesOf(bytes)[0]!);
      return [];
    case "get":
      return [await store.get(bytes)].filter((value) => value !== undefined);
    case "getMany":
      return (await store.getMany(split(bytes, KEY))) as Uint8Array[];
    case "scan":
      return (await store.scan!(bytes, count)).flat();
    case "close":
      await store.close();
      return [];
  }
}

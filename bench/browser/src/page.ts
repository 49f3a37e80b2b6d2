/** The page: runs the workloads on one contender, from here or in its worker. */

import type { Contender, Name } from "./contender.ts";
import { indexedDb } from "./contenders/indexeddb.ts";
import { terrane } from "./contenders/terrane.ts";
import { askStore } from "./line.ts";
import type { Outcome, Task } from "./worker.ts";
import { run, type Scale, type Speeds } from "./workloads.ts";

/** Where the caller is. */
export type Place = "page" | "worker";

/** SQLite's files can be had in a worker alone; the page asks that worker. */
const sqlite: Contender = {
  async open() {
    const worker = startWorker();
    await ask(worker, { what: "serve", name: "sqlite" });
    const store = askStore(worker);
    return {
      ...store,
      async close() {
        await store.close();
        worker.terminate();
      },
    };
  },
};

const onPage: Record<Name, Contender> = { terrane, indexeddb: indexedDb, sqlite };

/** The workers in which contenders run their workloads; kept, so that their code stays warm. */
const workers = new Map<Name, Worker>();

const bench = {
  async run(place: Place, name: Name, scale: Scale): Promise<Speeds> {
    if (place === "worker") {
      return (await ask(workerOf(name), { what: "run", name, scale })) as Speeds;
    }
    const store = await onPage[name].open();
    const speeds = await run(store, scale);
    await store.close();
    return speeds;
  },
};

declare global {
  interface Window {
    bench: typeof bench;
  }
}
window.bench = bench;

function workerOf(name: Name): Worker {
  const worker = workers.get(name) ?? startWorker();
  workers.set(name, worker);
  return worker;
}

function startWorker(): Worker {
  return new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
}

function ask(worker: Worker, task: Task): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || "the worker did not start"));
    worker.onmessage = ({ data: outcome }: MessageEvent<Outcome>) => {
      if ("error" in outcome) reject(new Error(outcome.error));
      else resolve(outcome.value);
    };
    worker.postMessage(task);
  });
}

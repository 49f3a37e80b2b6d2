/** The page of one contender: runs the workloads on it, from here or in its worker. */

import type { Contender, Loaders, Name } from "./contender.ts";
import { onIndexedDb } from "./contenders/on-indexeddb.ts";
import { askStore } from "./line.ts";
import type { Outcome, Task } from "./worker.ts";
import { run, type Scale, type Speeds } from "./workloads.ts";

/** Place of the caller. */
export type Place = "page" | "worker";

const onPage: Loaders = {
  terrane: async () => (await import("./contenders/terrane.ts")).terrane,
  ...onIndexedDb,
  sqlite: served("sqlite"),
  "wa-sqlite": served("wa-sqlite"),
  regolith: served("regolith"),
  "trine-kv": served("trine-kv"),
};

/** The worker in which the contender runs its workloads; kept, so that its code stays warm. */
let worker: Worker | undefined;

const bench = {
  async run(place: Place, name: Name, scale: Scale): Promise<Speeds> {
    if (place === "worker") {
      return (await ask((worker ??= startWorker()), { what: "run", name, scale })) as Speeds;
    }
    const contender = await onPage[name]();
    const store = await contender.open();
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

/** One whose files can be had in a worker alone; the page asks that worker. */
function served(name: Name): () => Promise<Contender> {
  const open = async () => {
    const worker = startWorker();
    await ask(worker, { what: "serve", name });
    const store = askStore(worker);
    return {
      ...store,
      async close() {
        await store.close();
        worker.terminate();
      },
    };
  };
  return async () => ({ open });
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

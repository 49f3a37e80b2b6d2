/** A worker with one contender: runs the workloads on it, or serves the page with it. */

/// <reference lib="webworker" />
import type { Loaders, Name } from "./contender.ts";
import { onIndexedDb } from "./contenders/on-indexeddb.ts";
import { serve } from "./line.ts";
import { run, type Scale } from "./workloads.ts";

declare const self: DedicatedWorkerGlobalScope;

/** Request of the page. */
export type Task = { name: Name } & ({ what: "run"; scale: Scale } | { what: "serve" });

/** Outcome of a request. */
export type Outcome = { value: unknown } | { error: string };

const inWorker: Loaders = {
  terrane: async () => (await import("./contenders/terrane-sync.ts")).terraneSync,
  ...onIndexedDb,
  sqlite: async () => (await import("./contenders/sqlite.ts")).sqlite,
  "wa-sqlite": async () => (await import("./contenders/wa-sqlite.ts")).waSqlite,
  regolith: async () => (await import("./contenders/rust.ts")).regolith,
  "trine-kv": async () => (await import("./contenders/rust.ts")).trineKv,
};

self.onmessage = async ({ data: task }: MessageEvent<Task>) => {
  let outcome: Outcome;
  try {
    outcome = { value: await perform(task) };
  } catch (error) {
    outcome = { error: error instanceof Error ? `${error.stack}` : JSON.stringify(error) };
  }
  self.postMessage(outcome);
};

async function perform(task: Task): Promise<unknown> {
  const contender = await inWorker[task.name]();
  const store = await contender.open();
  if (task.what === "serve") return serve(store, self);
  const speeds = await run(store, task.scale);
  await store.close();
  return speeds;
}

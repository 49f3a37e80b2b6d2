/** Opening, importing and destroying stores by name, in a page. */

import { Connection } from "./connection.ts";
import { Db } from "./db.ts";
import { ClosedError } from "./errors.ts";
import { type Receiver, send } from "./files.ts";
import {
  ask,
  checkPrivateFiles,
  type StoreOptions,
  toDefaults,
  toRequest,
  unavailable,
} from "./options.ts";
import type { Encoding } from "./packing.ts";

/** Options of a store in a page. */
export interface OpenOptions<
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> extends StoreOptions<K, V> {
  /** Starts the worker, where a bundler or a content policy needs it done otherwise. */
  worker?: (() => Worker) | undefined;
}

/**
 * Opens the store of that name on this origin's private file system. One page at a time holds a
 * store; a second is refused with a `BusyError` that says who has it.
 */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: OpenOptions<K, V> = {},
): Promise<Db<K, V>> {
  const request = toRequest(name, options);
  const defaults = toDefaults(options);
  checkPage(request.storage);
  const { worker = startWorker, signal } = options;
  return new Db(name, await Connection.open(worker, request, signal), defaults);
}

/**
 * Makes the store of that name, which must not be there yet, of a file that `export` or a native
 * program wrote. If it fails, nothing is left of it.
 */
export async function importStore(
  name: string,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<OpenOptions, "signal" | "timeout" | "wasm" | "worker"> = {},
): Promise<void> {
  const request = toRequest(name, options);
  checkPage("opfs");
  const { worker = startWorker, signal } = options;
  const connection = await Connection.begin(worker, { op: "import", ...request }, signal);
  try {
    const receiver: Receiver = {
      write: (bytes) => connection.call({ op: "importBytes", bytes }),
      end: (whole) => connection.call({ op: "endImport", whole }),
    };
    await send(source, receiver, signal);
  } finally {
    connection.end(new ClosedError("the import has ended"));
  }
}

/** Deletes the store of that name, if there is one. It must not be open anywhere. */
export async function destroy(
  name: string,
  options: Pick<OpenOptions, "timeout" | "worker"> = {},
): Promise<void> {
  const asked = ask(name, options.timeout);
  checkPage("opfs");
  const { worker = startWorker } = options;
  const connection = await Connection.begin(worker, { op: "destroy", ...asked }, undefined);
  connection.end(new ClosedError("the store is destroyed"));
}

/** Refuses, with the reason, where a store cannot be. */
function checkPage(storage: "opfs" | "memory"): void {
  if (typeof document === "undefined") throw unavailable("this is no page of a browser");
  if (storage === "opfs") checkPrivateFiles();
}

/** Bundlers look for exactly this expression. */
function startWorker(): Worker {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

/** Opening, importing and destroying stores by name, in a page or a worker of it. */

import { abortable, aborted } from "./abort.ts";
import { Db } from "./db.ts";
import { AbortError, ClosedError } from "./errors.ts";
import { type Receiver, send } from "./files.ts";
import { Line } from "./line.ts";
import {
  checkPrivateFiles,
  type StoreOptions,
  toDefaults,
  toRequest,
  toStoreRequest,
  unavailable,
} from "./options.ts";
import type { Encoding } from "./packing.ts";
import { watchPage } from "./page.ts";
import { openSession } from "./session.ts";

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
 * store; a second is refused with a `BusyError` that says who has it. Opened again by the same page,
 * it is shared: what the first opening says of memory, timers and the worker stays.
 */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: OpenOptions<K, V> = {},
): Promise<Db<K, V>> {
  const request = toRequest(name, options);
  const defaults = toDefaults(options);
  checkHere(request.storage);
  const { worker = startWorker, signal } = options;
  return new Db(name, await openSession(worker, request, signal), defaults);
}

/**
 * Makes the store of that name, which must not be there yet, of a file that `export` or a native
 * program wrote. If it fails, nothing is left of it. A page that is put aside calls it off.
 */
export async function importStore(
  name: string,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<OpenOptions, "signal" | "timeout" | "wasm" | "worker"> = {},
): Promise<void> {
  const request = toRequest(name, options);
  checkHere("opfs");
  const { worker = startWorker, signal } = options;
  if (signal?.aborted) throw aborted(signal);
  const line = new Line(worker);
  const calledOff = new AbortController();
  let begun = false;
  const abort = () => calledOff.abort(signal && aborted(signal));
  signal?.addEventListener("abort", abort);
  const unwatchPage = watchPage({
    hide: () => {
      // In this turn: it may be the page's last.
      if (begun) line.call({ op: "endImport", whole: false }).catch(() => undefined);
      calledOff.abort(new AbortError("the import was called off: the page was put aside"));
    },
    show: () => undefined,
    conceal: () => undefined,
  });
  const receiver: Receiver = {
    write: (bytes) => line.call({ op: "importBytes", bytes }),
    end: (whole) => line.call({ op: "endImport", whole }),
  };
  try {
    const beginning = line.call({ op: "import", ...request });
    await abortable(calledOff.signal, () => beginning);
    begun = true;
    await send(source, receiver, calledOff.signal);
  } finally {
    unwatchPage();
    signal?.removeEventListener("abort", abort);
    line.end(new ClosedError("the import has ended"));
  }
}

/** Deletes the store of that name, if there is one. It must not be open anywhere. */
export async function destroy(
  name: string,
  options: Pick<OpenOptions, "timeout" | "worker"> = {},
): Promise<void> {
  const request = toStoreRequest(name, options.timeout);
  checkHere("opfs");
  const { worker = startWorker } = options;
  const line = new Line(worker);
  try {
    await line.call({ op: "destroy", ...request });
  } finally {
    line.end(new ClosedError("the store is destroyed"));
  }
}

/** Refuses, with the reason, where a store cannot be. */
function checkHere(storage: "opfs" | "memory"): void {
  if (storage === "opfs") checkPrivateFiles();
  if (typeof Worker === "undefined") throw unavailable("no worker can be started");
}

/**
 * Starts the worker that lies beside this script. A browser starts none from another origin, as a
 * script of a CDN is: there a module of this origin imports it.
 */
function startWorker(): Worker {
  const here = import.meta.url;
  if (here.startsWith("http") && new URL(here).origin !== location.origin) {
    const { href } = new URL("worker.js", here);
    const script = new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" });
    const url = URL.createObjectURL(script);
    const worker = new Worker(url, { type: "module" });
    worker.addEventListener("message", () => URL.revokeObjectURL(url), { once: true });
    return worker;
  }
  // Bundlers look for exactly this expression.
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

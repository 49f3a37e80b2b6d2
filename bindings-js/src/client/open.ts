/** Opening, importing and destroying stores by name, in a page or in a worker that it starts. */

import type { Encoding } from "../api/data.ts";
import { AbortError } from "../api/errors.ts";
import type { StoreOptions } from "../api/options.ts";
import { checked, STORE, TIMEOUT, WAIT, WASM } from "../codec/options.ts";
import { toDefaults, toRequest } from "../codec/requests.ts";
import { checkBoolean } from "../codec/validate.ts";
import { toStoreRequest } from "#store-request";
import { abortable, abortError } from "../shared/abort.ts";
import { checkPrivateFiles } from "../shared/environment.ts";
import { type ImportSink, pipeImport } from "../shared/streams.ts";
import { Db } from "./db.ts";
import { canLead } from "./election.ts";
import { Line } from "./line.ts";
import { OwnWorker } from "./own-worker.ts";
import { watchPage } from "./page-lifecycle.ts";
import { SessionPort } from "./port.ts";
import { openSession } from "./session.ts";
import { startThreads, startWorker } from "./start-worker.ts";
import { chooseThreads } from "./threads.ts";

/** Time for the worker of an aborted import to clean up, in milliseconds. */
const GIVE_UP_DELAY = 2000;

/** Options that only `open`, `importStore` and `destroy` of a page accept. */
const WORKER = { worker: 0 };
const OPEN = { exclusive: 0, ...WORKER };

/** Options of a store in a page. */
export interface OpenOptions<
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> extends StoreOptions<K, V> {
  /** Starts the worker, where a bundler or a content security policy needs it done differently. */
  worker?: (() => Worker) | undefined;
  /** Keeps all other pages and workers of the origin out, which get a `BusyError`. Default: false. */
  exclusive?: boolean | undefined;
}

/**
 * Opens the store of that name in the origin private file system. All pages and workers of the origin share it, unless
 * one opens it as `exclusive`: the worker of one of them has it, whose memory, timer and worker options apply. When
 * that page goes away, another takes over. Shared workers and service workers can open a store that a page has open.
 */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: OpenOptions<K, V> = {},
): Promise<Db<K, V>> {
  const threads = chooseThreads(checked(options, STORE, OPEN));
  const request = { ...toRequest(name, options), threads };
  const defaults = toDefaults(options);
  const isShared = !checkBoolean("exclusive", options.exclusive ?? false);
  if (isShared && request.storage === "opfs" && !canLead()) checkPrivateFiles();
  else checkHere(request.storage);
  const { worker = threads.count > 0 ? startThreads : startWorker, signal } = options;
  const session = await openSession(worker, request, isShared, signal);
  return new Db(name, new SessionPort(session), defaults);
}

/**
 * Creates the store of that name, which must not exist yet, from a file that `export` or a native
 * program wrote. If that fails, nothing is left of it. It is aborted when the page is suspended.
 */
export async function importStore(
  name: string,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<OpenOptions, "signal" | "timeout" | "wasm" | "worker"> = {},
): Promise<void> {
  const request = toRequest(name, checked(options, TIMEOUT, WASM, WAIT, WORKER));
  checkHere("opfs");
  const { worker = startWorker, signal } = options;
  if (signal?.aborted) throw abortError(signal);
  let own: OwnWorker | undefined;
  const line = new Line((receiver) => (own = new OwnWorker(worker, receiver)));
  const aborter = new AbortController();
  let started = false;
  const abort = () => aborter.abort(signal && abortError(signal));
  signal?.addEventListener("abort", abort);
  const unwatchPage = watchPage({
    suspend: () => {
      // At once: this may be the page's last turn.
      if (started) sink.end(false).catch(() => undefined);
      aborter.abort(new AbortError("the import was aborted: the page was suspended"));
    },
    resume: () => undefined,
    hidden: () => undefined,
    visible: () => undefined,
  });
  const sink: ImportSink = {
    write: (bytes) => line.call({ op: "importBytes", bytes }),
    end: (complete) => {
      // The worker releases its lock at the end.
      own?.unwatch();
      return line.call({ op: "endImport", complete });
    },
  };
  try {
    const starting = line.call({ op: "import", ...request });
    void own?.watch((await abortable(aborter.signal, () => starting)) as string);
    started = true;
    await pipeImport(source, sink, aborter.signal);
  } catch (error) {
    // The worker may already have files; if it still waits for them, this ends its wait. One that is loading
    // its code may never reply: the next opening removes what it leaves.
    if (!started) {
      setTimeout(() => line.end(), GIVE_UP_DELAY);
      await sink.end(false).catch(() => undefined);
    }
    throw error;
  } finally {
    unwatchPage();
    signal?.removeEventListener("abort", abort);
    line.end();
  }
}

/** Deletes the store of that name, if it exists. It must not be open anywhere. */
export async function destroy(
  name: string,
  options: Pick<OpenOptions, "timeout" | "worker"> = {},
): Promise<void> {
  const request = toStoreRequest(name, checked(options, TIMEOUT, WORKER).timeout);
  checkHere("opfs");
  const { worker = startWorker } = options;
  const line = new Line((receiver) => new OwnWorker(worker, receiver));
  try {
    await line.call({ op: "destroy", ...request });
  } finally {
    line.end();
  }
}

/** Throws, with the reason, where a store cannot be opened. */
function checkHere(storage: "opfs" | "memory"): void {
  if (storage === "opfs") checkPrivateFiles();
}

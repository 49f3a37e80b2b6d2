/** Importing and destroying stores by name, each in a worker of its own. */

import { AbortError } from "../api/errors.ts";
import { checked, TIMEOUT, WAIT, WASM } from "../codec/options.ts";
import { toRequest } from "../codec/requests.ts";
import { toModule } from "../codec/wasm-module.ts";
import { toStoreRequest } from "#store-request";
import { abortable, abortError } from "../shared/abort.ts";
import { type ImportSink, pipeImport } from "../shared/streams.ts";
import { checkHere } from "./here.ts";
import { Line } from "./line.ts";
import type { OpenOptions } from "./open.ts";
import { checkNotOpen } from "./open-session.ts";
import { OwnWorker, seen } from "./own-worker.ts";
import { watchPage } from "./page-lifecycle.ts";
import { starting } from "./start-worker.ts";

/** Time for the worker of an aborted import to clean up, in milliseconds. */
const GIVE_UP_DELAY = 2000;

/** An option besides those of every store. */
const WORKER = { worker: 0 };

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
  request.wasm = toModule(options.wasm);
  checkNotOpen(name);
  await checkHere("opfs", options.worker);
  const { signal } = options;
  const worker = await starting(false, options.worker);
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
    const starting = seen(request.client, () => line.call({ op: "import", ...request }));
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
  checkNotOpen(name);
  await checkHere("opfs", options.worker);
  const worker = await starting(false, options.worker);
  const line = new Line((receiver) => new OwnWorker(worker, receiver));
  try {
    await line.call({ op: "destroy", ...request });
  } finally {
    line.end();
  }
}

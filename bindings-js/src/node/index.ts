/// <reference lib="esnext.disposable" preserve="true" />
/** Stores in Node: the asynchronous client, and a thread for each store with the addon. */

import { openAsBlob } from "node:fs";
import type { Encoding } from "../api/data.ts";
import { UnavailableError } from "../api/errors.ts";
import { Db as ClientDb } from "../client/db.ts";
import { Line } from "../client/line.ts";
import { OwnWorker } from "../client/own-worker.ts";
import { checkNotOpen as checkNotConnected, openSession } from "../client/open-session.ts";
import { Session } from "../client/session.ts";
import type { Exported } from "../codec/protocol.ts";
import { checked, TIMEOUT, WAIT } from "../codec/options.ts";
import { toDefaults } from "../codec/requests.ts";
import { abortable, abortError, ignoreResult } from "../shared/abort.ts";
import { addCheck, checkNotOpen } from "../shared/open-here.ts";
import { type ImportSink, pipeImport } from "../shared/streams.ts";
import type { ExportedFile } from "../store/port.ts";
import { type NodeOptions, refuseBrowserOptions, toNodeRequest } from "./options.ts";
import { toStoreRequest } from "./store-request.ts";
import { startThread } from "./thread.ts";

export * from "../api/index.ts";
export type { Db, Keyspace, Reader, Snapshot, Transaction } from "../client/db.ts";
export type { Layout, NodeOptions as OpenOptions } from "./options.ts";

// The other entries of the package refuse to destroy a store that this one has open.
addCheck(checkNotConnected);

/** The calls of a store in a thread, whose exported files this one opens. */
class ThreadSession extends Session {
  override async exportFile(): Promise<ExportedFile> {
    const { file } = (await this.call({ op: "export" })) as Exported;
    const blob = await openAsBlob(file!);
    return { blob, end: () => ignoreResult(this.call({ op: "endExport", file: file! })) };
  }
}

/** A store of a process, whose files are not those of an origin. */
class NodeDb<K extends Encoding, V extends Encoding> extends ClientDb<K, V> {
  override estimate(): Promise<never> {
    return Promise.reject(onlyInPages("estimate"));
  }

  override persist(): Promise<never> {
    return Promise.reject(onlyInPages("persist"));
  }
}

function onlyInPages(call: string): UnavailableError {
  return new UnavailableError(`${call}: expected a page, whose origin has a quota, found Node`);
}

/**
 * Opens the store at that path. One process at a time can hold a store; another gets a `BusyError` with the id of the
 * process that has it. All openings in a process share the store: memory and timer options are those of the first one.
 */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  path: string | URL,
  options: NodeOptions<K, V> = {},
): Promise<ClientDb<K, V>> {
  const request = toNodeRequest(path, options);
  const defaults = toDefaults(options as object) as ReturnType<typeof toDefaults<K, V>>;
  const session = await openSession(
    startThread,
    request,
    false,
    options.signal,
    (connection) => new ThreadSession(connection),
  );
  return new NodeDb(request.name, session, defaults);
}

/**
 * Creates the store at that path, where there must be nothing yet, from a file that `export`, a page or the command
 * line wrote. If that fails, nothing is left of it.
 */
export async function importStore(
  path: string | URL,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<NodeOptions, "signal" | "timeout" | "layout"> = {},
): Promise<void> {
  const request = toImport(path, options);
  const { signal } = options;
  if (signal?.aborted) throw abortError(signal);
  const line = new Line((receiver) => new OwnWorker(startThread, receiver));
  const sink: ImportSink = {
    write: (bytes) => line.call({ op: "importBytes", bytes }),
    end: (complete) => line.call({ op: "endImport", complete }),
  };
  try {
    await abortable(signal, () => line.call({ op: "import", ...request }));
    await pipeImport(source, sink, signal);
  } finally {
    line.end();
  }
}

/** Deletes the store at that path, if there is one. It must not be open anywhere. */
export async function destroy(
  path: string | URL,
  options: Pick<NodeOptions, "timeout"> = {},
): Promise<void> {
  refuseBrowserOptions(options);
  const request = toStoreRequest(path, checked(options, TIMEOUT).timeout);
  checkNotOpen(request.name);
  const line = new Line((receiver) => new OwnWorker(startThread, receiver));
  try {
    await line.call({ op: "destroy", ...request });
  } finally {
    line.end();
  }
}

function toImport(path: string | URL, options: Pick<NodeOptions, "timeout" | "layout">) {
  refuseBrowserOptions(options);
  const { timeout, layout } = checked(options, TIMEOUT, WAIT, { layout: 0 });
  return toNodeRequest(path, { timeout, layout });
}

/**
 * A store that can lose its power: it runs in this worker on the browser's private files, and every write
 * to a file is remembered until the file is synced. A crash takes back what was not, and closes the files.
 */

import { type Db, destroy, open } from "terrane/worker";
import { type Failed, replyInTurn } from "../source/replies.ts";

/** What the page asks for. */
export type Request =
  | { do: "open"; name: string; fresh: boolean }
  | { do: "put"; key: string; value: string; sync: boolean }
  | { do: "delete"; key: string; sync: boolean }
  | { do: "close" }
  | { do: "crash" };

/** What it is told: the store as it is, or that there is none any more. */
export type Reply =
  | {
      type: "state";
      entries: [string, string][];
      /** The number of the last write. */
      last: number;
      /** Bytes of incomplete writes that recovery dropped. */
      discarded: number;
      /** Bytes that were written to files and not synced. */
      unsynced: number;
    }
  | { type: "gone"; lost: number }
  | Failed;

/** A file of the browser's private ones, as workers have it. */
interface SyncFile {
  getSize(): number;
  read(into: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  write(from: ArrayBufferView, options?: { at?: number }): number;
  truncate(size: number): void;
  flush(): void;
}

/** What a file held before a write that is not synced. */
interface Before {
  at: number;
  bytes: Uint8Array<ArrayBuffer>;
  size: number;
  written: number;
}

const unsynced = new Map<SyncFile, Before[]>();
const worker = globalThis as unknown as { FileSystemSyncAccessHandle: { prototype: SyncFile } };
const files = worker.FileSystemSyncAccessHandle.prototype;
const { write, truncate, flush } = files;

/** Remembers what lies at a place of a file, and how long it is. */
function remember(file: SyncFile, at: number, length: number): void {
  const size = file.getSize();
  const bytes = new Uint8Array(Math.max(Math.min(length, size - at), 0));
  file.read(bytes, { at });
  const before = unsynced.get(file) ?? [];
  before.push({ at, bytes, size, written: length });
  unsynced.set(file, before);
}

files.write = function (buffer, options) {
  remember(this, options?.at ?? 0, buffer.byteLength);
  return write.call(this, buffer, options);
};
files.truncate = function (size) {
  remember(this, size, Math.max(this.getSize() - size, 0));
  truncate.call(this, size);
};
files.flush = function () {
  flush.call(this);
  unsynced.delete(this);
};

/** Takes back what was not synced, and returns how many bytes that were. */
function losePower(): number {
  let lost = 0;
  for (const [file, writes] of unsynced) {
    for (const { at, bytes, size, written } of writes.reverse()) {
      lost += written;
      write.call(file, bytes, { at });
      truncate.call(file, size);
    }
    flush.call(file);
  }
  return lost;
}

let db: Db | undefined;

replyInTurn(perform);

async function perform(request: Request): Promise<Reply> {
  switch (request.do) {
    case "open":
      if (request.fresh) await destroy(request.name);
      // Nothing is synced by the passing of time while the visitor looks.
      db = await open(request.name, { syncInterval: 3_600_000 });
      return state(db);
    case "put":
      held().put(request.key, request.value, { durability: request.sync ? "sync" : "buffered" });
      return state(held());
    case "delete":
      held().delete(request.key, { durability: request.sync ? "sync" : "buffered" });
      return state(held());
    case "close":
      held().close();
      return { type: "gone", lost: 0 };
    case "crash":
      // The page ends this worker, and with it the engine, which is told nothing.
      return { type: "gone", lost: losePower() };
  }
}

function held(): Db {
  if (db === undefined) throw new Error("The store is not open.");
  return db;
}

function state(db: Db): Reply {
  const { lastSequence, discardedBytes } = db.stats();
  const open = [...unsynced.values()].flat();
  return {
    type: "state",
    entries: [...db.entries()],
    last: lastSequence,
    discarded: discardedBytes,
    unsynced: open.reduce((sum, { written }) => sum + written, 0),
  };
}

/**
 * The browser's private files, in a worker, as disks have them: every write to a file is remembered until the
 * file is synced. When the power fails, what was not is taken back.
 */

/** A file of the browser's private ones, as workers have it. */
interface SyncFile {
  getSize(): number;
  read(into: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  write(from: ArrayBufferView, options?: { at?: number }): number;
  truncate(size: number): void;
  flush(): void;
}

/** Content of a file before a write that is not synced. */
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
  if (bytes.length > 0) file.read(bytes, { at });
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

/** Bytes that were written and not synced. */
export function unsyncedBytes(): number {
  return [...unsynced.values()].flat().reduce((sum, { written }) => sum + written, 0);
}

/** Takes back what was not synced, and returns how many bytes that were. Nothing is written. */
export function losePower(): number {
  const lost = unsyncedBytes();
  for (const [file, writes] of unsynced) {
    for (const { at, bytes, size } of writes.reverse()) {
      write.call(file, bytes, { at });
      truncate.call(file, size);
    }
    flush.call(file);
  }
  const dead = () => {
    throw new DOMException("the power has failed", "InvalidStateError");
  };
  Object.assign(files, { write: dead, truncate: dead, flush: dead });
  return lost;
}

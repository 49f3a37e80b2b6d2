/**
 * A stand-in for a browser's private file system, on `node:fs`: as much of it as `terrane/worker` calls, so that the
 * module of WebAssembly runs on the files that the native addon runs on.
 *
 * Nothing locks a file: one process has a store open at a time, and nobody checks.
 */

import * as fs from "node:fs";
import { join } from "node:path";

/** Throws as a browser does where there is no such entry. */
function found(path) {
  if (!fs.existsSync(path)) throw new DOMException(path, "NotFoundError");
  return path;
}

class FileSystemSyncAccessHandle {
  #file;

  constructor(path) {
    this.#file = fs.openSync(path, "r+");
  }

  read = (bytes, { at }) => fs.readSync(this.#file, bytes, 0, bytes.byteLength, at);
  flush = () => fs.fdatasyncSync(this.#file);
  getSize = () => fs.fstatSync(this.#file).size;
  close = () => fs.closeSync(this.#file);

  // The store calls these two by the prototype.
  write(bytes, { at }) {
    return fs.writeSync(this.#file, bytes, 0, bytes.byteLength, at);
  }

  truncate(size) {
    fs.ftruncateSync(this.#file, size);
  }
}

class FileSystemFileHandle {
  kind = "file";
  #path;

  constructor(path) {
    this.#path = path;
  }

  async createSyncAccessHandle() {
    return new FileSystemSyncAccessHandle(this.#path);
  }
}

class FileSystemDirectoryHandle {
  kind = "directory";
  #path;

  constructor(path) {
    this.#path = path;
  }

  async getDirectoryHandle(name, { create = false } = {}) {
    const path = join(this.#path, name);
    if (create) fs.mkdirSync(path, { recursive: true });
    return new FileSystemDirectoryHandle(found(path));
  }

  async getFileHandle(name, { create = false } = {}) {
    const path = join(this.#path, name);
    if (create) fs.closeSync(fs.openSync(path, "a"));
    return new FileSystemFileHandle(found(path));
  }

  async removeEntry(name, options) {
    fs.rmSync(found(join(this.#path, name)), options);
  }

  async *keys() {
    yield* fs.readdirSync(this.#path);
  }
}

/** Locks that nobody else asks for: this process has the store. */
const locks = {
  request: async (name, ...rest) => rest.at(-1)({ name }),
  query: async () => ({ held: [], pending: [] }),
};

/** Gives this thread what a browser's worker has, with the files in a folder. */
export function installPrivateFiles(folder) {
  fs.mkdirSync(folder);
  const getDirectory = async () => new FileSystemDirectoryHandle(folder);
  const globals = {
    FileReader: class {
      EMPTY = 0;
      readyState = 0;
    },
    FileSystemFileHandle,
    FileSystemSyncAccessHandle,
    isSecureContext: true,
    navigator: { locks, storage: { getDirectory } },
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
}

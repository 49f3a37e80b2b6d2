/** The stores of `bench/browser/rust`, called in the worker that owns their files. */

import { concatenate, entriesOf, split, VALUE } from "../codec.ts";
import { CACHE_BYTES, type Contender, type Store } from "../contender.ts";
import { removeDirectory } from "../opfs.ts";
import { serialQueue } from "../serial-queue.ts";

type Result<T> = T | Promise<T>;

/** The class that each module exports. One of them returns promises. */
interface RustStore {
  batch(entries: Uint8Array): Result<void>;
  put(key: Uint8Array, value: Uint8Array): Result<void>;
  get(key: Uint8Array): Result<Uint8Array | undefined>;
  getMany(keys: Uint8Array): Result<Uint8Array>;
  scan(from: Uint8Array, count: number): Result<Uint8Array>;
  close(): Result<void>;
}

interface Module {
  default(): Promise<unknown>;
  Store: { open(folder: string, cacheBytes: number): Promise<RustStore> };
}

/** Runs a write: at once, or when its turn comes. */
type Writer = (write: () => Result<void>) => Result<void>;

/** The modules that were built: those of the contenders that were named. */
const built = import.meta.glob<Module>("../../rust/pkg/*/*.js");

export const regolith = ofRust("regolith", (write) => write());
// A write that meets the flush of another is refused.
export const trineKv = ofRust("trine-kv", serialQueue());

function ofRust(name: string, writer: Writer): Contender {
  return {
    async open() {
      const load = built[`../../rust/pkg/${name}/${name}.js`];
      if (load === undefined) throw new Error(`${name} was not built`);
      const module = await load();
      await module.default();
      const folder = `comparison-${name}`;
      await removeDirectory(folder);
      return store(await module.Store.open(folder, CACHE_BYTES), writer);
    },
  };
}

function store(rust: RustStore, writer: Writer): Store {
  return {
    batch: (entries) => writer(() => rust.batch(concatenate(entries.flat()))),
    put: ([key, value]) => writer(() => rust.put(key, value)),
    get: (key) => rust.get(key),
    getMany: (keys) => then(rust.getMany(concatenate(keys)), (bytes) => split(bytes, VALUE)),
    scan: (from, count) => then(rust.scan(from, count), entriesOf),
    close: () => rust.close(),
  };
}

/** Decodes bytes, now or when they have arrived. */
function then<T>(bytes: Result<Uint8Array>, decode: (bytes: Uint8Array) => T): Result<T> {
  return bytes instanceof Promise ? bytes.then(decode) : decode(bytes);
}

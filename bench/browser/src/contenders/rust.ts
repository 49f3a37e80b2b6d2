/** The stores of `bench/browser/rust`, called in the worker that owns their files. */

import { CACHE_BYTES, type Contender, type Store } from "../contender.ts";
import { removeDirectory } from "../opfs.ts";
import { concatenate, entriesOf, split, VALUE } from "../packed.ts";
import { turns } from "../turns.ts";

type Result<T> = T | Promise<T>;

/** What each exports. One of them returns promises. */
interface Packed {
  batch(entries: Uint8Array): Result<void>;
  put(key: Uint8Array, value: Uint8Array): Result<void>;
  get(key: Uint8Array): Result<Uint8Array | undefined>;
  getMany(keys: Uint8Array): Result<Uint8Array>;
  scan(from: Uint8Array, count: number): Result<Uint8Array>;
  close(): Result<void>;
}

interface Module {
  default(): Promise<unknown>;
  Store: { open(folder: string, cacheBytes: number): Promise<Packed> };
}

/** Makes a write: at once, or when it is its turn. */
type Writer = (write: () => Result<void>) => Result<void>;

/** Those that were built, since they were named. */
const built = import.meta.glob<Module>("../../rust/pkg/*/*.js");

export const regolith = ofRust("regolith", (write) => write());
// A write that meets the flush of another is refused.
export const trineKv = ofRust("trine-kv", turns());

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

function store(packed: Packed, writer: Writer): Store {
  return {
    batch: (entries) => writer(() => packed.batch(concatenate(entries.flat()))),
    put: ([key, value]) => writer(() => packed.put(key, value)),
    get: (key) => packed.get(key),
    getMany: (keys) => then(packed.getMany(concatenate(keys)), (bytes) => split(bytes, VALUE)),
    scan: (from, count) => then(packed.scan(from, count), entriesOf),
    close: () => packed.close(),
  };
}

/** What becomes of bytes, now or when they are there. */
function then<T>(bytes: Result<Uint8Array>, become: (bytes: Uint8Array) => T): Result<T> {
  return bytes instanceof Promise ? bytes.then(become) : become(bytes);
}

/**
 * The names of the options that calls accept. Any other is rejected: it is often a typo, and an ignored
 * option would go unnoticed.
 */

import type { Encoding, RangeOptions, Rows } from "../api/data.ts";
import type {
  ChangesOptions,
  CheckpointOptions,
  Encodings,
  ExpiryOptions,
  IterationOptions,
  KeyOptions,
  KeyspaceOptions,
  LimitOptions,
  ReadOptions,
  RowsOptions,
  StoreOptions,
  WaitOptions,
  WriteOptions,
} from "../api/options.ts";
import type { InvalidArgumentError } from "../api/errors.ts";
import type { BatchOptions, Mode } from "../api/store.ts";
import { check, invalid, isTagged } from "./validate.ts";

/** The names of all options of a type: the compiler reports one that is missing. */
type Names<O> = Readonly<Record<keyof O, 0>>;

export const WAIT: Names<WaitOptions> = { signal: 0 };
export const READ: Names<ReadOptions<Encoding>> = { valueEncoding: 0 };
export const KEY: Names<KeyOptions<Encoding>> = { keyEncoding: 0 };
export const WRITE: Names<WriteOptions> = { durability: 0 };
export const EXPIRY: Names<ExpiryOptions> = { ttl: 0, expiresAt: 0 };
export const BATCH: Names<BatchOptions<Mode>> = { durability: 0, if: 0 };
export const RANGE: Names<RangeOptions> = {
  prefix: 0,
  gte: 0,
  gt: 0,
  lte: 0,
  lt: 0,
};
export const ENCODINGS: Names<Encodings<Encoding, Encoding>> = { keyEncoding: 0, valueEncoding: 0 };
export const REVERSE: Names<Pick<LimitOptions, "reverse">> = { reverse: 0 };
export const ROWS: Names<RowsOptions<Rows>> = { rows: 0 };
/** Options of changes besides a range and encodings. */
export const CHANGES: Names<
  Pick<ChangesOptions<Encoding, Encoding>, "since" | "keyspace" | "signal">
> = { since: 0, keyspace: 0, signal: 0 };
export const LIMIT: Names<LimitOptions> = { limit: 0, reverse: 0 };
export const ITERATION: Names<IterationOptions<Encoding, Encoding>> = {
  keyEncoding: 0,
  valueEncoding: 0,
  reverse: 0,
  limit: 0,
};
export const KEYSPACE: Names<KeyspaceOptions<Encoding, Encoding>> = {
  create: 0,
  policy: 0,
  keyEncoding: 0,
  valueEncoding: 0,
};
/** Options of `checkpoint`, `importStore` and `destroy`. */
export const TIMEOUT: Names<CheckpointOptions> = { timeout: 0 };
export const WASM: Names<Pick<StoreOptions, "wasm">> = { wasm: 0 };
export const STORE: Names<StoreOptions> = {
  storage: 0,
  create: 0,
  errorIfExists: 0,
  policy: 0,
  policies: 0,
  durability: 0,
  keyEncoding: 0,
  valueEncoding: 0,
  memtableBytes: 0,
  cacheBytes: 0,
  filterBits: 0,
  feedBytes: 0,
  syncInterval: 0,
  threads: 0,
  wasm: 0,
  timeout: 0,
  signal: 0,
};

/** The error for a name that is in none of the lists. */
export function unknown(what: string, name: string, lists: object[]): InvalidArgumentError {
  // Names that start alike come first: one of them is probably what was meant.
  const alike = (known: string): number => Number(known.startsWith(name.slice(0, 2)));
  const known = lists.flatMap(Object.keys).sort((a, b) => alike(b) - alike(a));
  return invalid(what, known.join(", "), name);
}

/** Throws for a field that is in none of the lists: if a mistyped bound were ignored, a range would be all keys. */
export function checkFields(what: string, given: object, ...lists: object[]): void {
  for (const name in given) {
    if (!lists.some((list) => name in list)) throw unknown(what, name, lists);
  }
}

/** Returns the options, or throws if one is in none of the lists, or `signal` is not an `AbortSignal`. */
export function checked<O>(options: O, ...lists: object[]): O {
  check("options", options, typeof options === "object" && options !== null, "an object");
  for (const name of Object.keys(options as object)) {
    if (lists.some((list) => Object.hasOwn(list, name))) continue;
    throw unknown("options", name, lists);
  }
  const { signal } = options as WaitOptions;
  const valid = signal === undefined || isTagged(signal, "AbortSignal");
  check("signal", signal, valid, "an AbortSignal");
  return options;
}

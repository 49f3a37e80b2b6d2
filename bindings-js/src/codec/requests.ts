/** Options and arguments, validated and turned into requests. */

import type { Bytes, Codec, Encoding, RangeFields } from "../api/data.ts";
import type {
  Durability,
  Encodings,
  ExpiryOptions,
  IterationOptions,
  KeyspaceOptions,
  StoreOptions,
  WriteOptions,
} from "../api/options.ts";
import { InvalidArgumentError } from "../api/errors.ts";
import { LEAN_POLICIES, type Policy } from "../api/policies.ts";
import { Encoder } from "./encoder.ts";
import type { OpenRequest, ScanRequest } from "./protocol.ts";
import { encodeRange } from "./span.ts";
import { toStoreRequest } from "#store-request";
import {
  check,
  checkBoolean,
  checkName,
  checkNumber,
  checkTime,
  isTagged,
  oneOf,
} from "./validate.ts";

/** Defaults of calls. */
export interface Defaults<K extends Encoding, V extends Encoding> {
  durability: Durability;
  keyEncoding: K;
  valueEncoding: V;
}

const MIN_MEMTABLE_BYTES = 64 << 10;
/** The most that one option may use of the module's 4 GiB of memory. */
const MAX_BYTES = 1 << 30;
const MAX_FILTER_BITS = 64;
/** The most merges that run at once. */
export const MAX_THREADS = 8;

let latest = 0;

/** Returns the time in milliseconds since the epoch, which never goes backward, as in the engine. */
export function now(): number {
  latest = Math.max(latest, Date.now());
  return latest;
}

/**
 * Returns the time at which a value expires, in milliseconds since the epoch; undefined if it does not. A `ttl` starts
 * at `start`.
 */
export function toExpiry({ ttl, expiresAt }: ExpiryOptions, start: number): number | undefined {
  if (ttl !== undefined) {
    const valid = typeof ttl === "number" && ttl >= 0 && ttl < Infinity;
    check("ttl", ttl, valid, "milliseconds, such as 60_000 for a minute");
    if (expiresAt !== undefined) {
      throw new InvalidArgumentError("options: expected one of ttl and expiresAt, found both");
    }
    return Math.min(Math.ceil(start + ttl), Number.MAX_SAFE_INTEGER);
  }
  if (expiresAt === undefined) return undefined;
  const time = Number(expiresAt);
  const isTime = typeof expiresAt === "number" || isTagged<Date>(expiresAt, "Date");
  const valid = isTime && time >= 0 && time <= Number.MAX_SAFE_INTEGER;
  check("expiresAt", expiresAt, valid, "a Date or milliseconds since the epoch");
  return Math.ceil(time);
}

/** The options as the engine's thread gets them, but for the module. */
export function toRequest<K extends Encoding, V extends Encoding>(
  name: string,
  options: StoreOptions<K, V>,
): OpenRequest {
  const { storage = "opfs", create = true, errorIfExists = false } = options;
  const policy = options.policy === undefined ? undefined : toPolicy(options.policy);
  const policies = oneOf("policies", options.policies ?? "needed", "needed", "all");
  return {
    ...toStoreRequest(name, options.timeout),
    storage: oneOf("storage", storage, "opfs", "memory"),
    create: checkBoolean("create", create),
    syncInterval: checkTime("syncInterval", options.syncInterval ?? 1000),
    build: policies === "all" || needsAll(options.policy) ? "all" : "lean",
    wasm: undefined,
    threads: { count: 0, reason: "the engine runs in the calling worker" },
    keepPolicy: false,
    errorIfExists: checkBoolean("errorIfExists", errorIfExists),
    memtableBytes: checkBytes("memtableBytes", options.memtableBytes, MIN_MEMTABLE_BYTES),
    cacheBytes: checkBytes("cacheBytes", options.cacheBytes, 0),
    filterBits: checkNumber("filterBits", options.filterBits, 0, MAX_FILTER_BITS, "bits per key"),
    feedBytes: checkBytes("feedBytes", options.feedBytes, 0),
    policy,
  };
}

/**
 * Returns the number of merges that may run at once on workers; undefined for the number that suits
 * the machine.
 */
export function toThreads(threads: StoreOptions["threads"] = "auto"): number | undefined {
  if (threads === "auto") return undefined;
  const count = threads === false ? 0 : threads;
  const valid = Number.isInteger(count) && count >= 0 && count <= MAX_THREADS;
  return check("threads", count, valid, `"auto", false, or an integer up to ${MAX_THREADS}`);
}

/** Returns the defaults of calls. */
export function toDefaults<K extends Encoding, V extends Encoding>(
  options: StoreOptions<K, V>,
): Defaults<K, V> {
  return {
    durability: toDurability(options, "buffered"),
    ...toEncodings(options, { keyEncoding: "utf8" as K, valueEncoding: "utf8" as V }),
  };
}

/** The encodings of a call or a keyspace. */
export function toEncodings<K extends Encoding, V extends Encoding>(
  { keyEncoding, valueEncoding }: Encodings<K, V>,
  defaults: { keyEncoding: Encoding; valueEncoding: Encoding },
): { keyEncoding: K; valueEncoding: V } {
  return {
    keyEncoding: toEncoding("keyEncoding", keyEncoding ?? (defaults.keyEncoding as K)),
    valueEncoding: toEncoding("valueEncoding", valueEncoding ?? (defaults.valueEncoding as V)),
  };
}

/** The encoding of a call. */
export function toEncoding<E extends Encoding>(what: string, encoding: E): E {
  if (encoding === "utf8" || encoding === "binary" || encoding === "json") return encoding;
  const { encode, decode } = (encoding ?? {}) as Partial<Codec<unknown>>;
  const valid = typeof encode === "function" && typeof decode === "function";
  return check(what, encoding, valid, '"utf8", "binary", "json" or { encode, decode }');
}

/** Returns the moment at which a write completes. */
export function toDurability({ durability }: WriteOptions, byDefault: Durability): Durability {
  return oneOf("durability", durability ?? byDefault, "sync", "buffered");
}

/** Returns the request for a keyspace: its name, whether to create it, and its policy as JSON. */
export function toKeyspace<K extends Encoding, V extends Encoding>(
  name: string,
  { create = true, policy }: KeyspaceOptions<K, V>,
): [name: string, create: boolean, policy: string | undefined] {
  const json = policy === undefined ? undefined : toPolicy(policy);
  return [checkKeyspaceName(name), checkBoolean("create", create), json];
}

/** A policy as the engine parses it: JSON with names in kebab case. */
export function toPolicy(policy: Policy): string {
  const options = typeof policy === "string" ? { policy } : policy;
  const valid = typeof options === "object" && options !== null;
  const fields = Object.entries(check("policy", options, valid, "a name or an object"));
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return JSON.stringify(Object.fromEntries(fields.map(([name, field]) => [kebab(name), field])));
}

/** Parameters that only the build with all policies has. */
const ADDED = ["partitioner", "maxSubcompactions", "pipelined"];

/** Whether a policy, or a parameter of it, is only in the build with all policies. */
function needsAll(policy: Policy | undefined): boolean {
  if (typeof policy !== "object") return policy !== undefined && !LEAN_POLICIES.includes(policy);
  const { policy: name, filters = "uniform" } = policy;
  return needsAll(name) || filters !== "uniform" || ADDED.some((parameter) => parameter in policy);
}

/** Throws if it is not a valid name of a keyspace. Those with U+0000 first are the engine's own. */
export function checkKeyspaceName(name: string): string {
  return checkName(
    "keyspace",
    name,
    /^(?!\0)\P{Cs}{1,255}$/u,
    "1 to 255 characters without U+0000 at the start or lone surrogates",
  );
}

/** Keys as the engine takes them. */
export function toKeys(keys: readonly Bytes[]): Uint8Array<ArrayBuffer> {
  check("keys", keys, Array.isArray(keys), "an array");
  const encoder = new Encoder();
  for (const key of keys) encoder.key(key);
  return encoder.bytes();
}

/** The keyspace and the snapshot that a scan reads, and the encoding of its range. */
interface Scanned {
  keyspace: number;
  snapshot: number;
  keyEncoding: Encoding;
}

/** The entries that an iteration returns. */
export function toScan(
  { keyspace, snapshot, keyEncoding }: Scanned,
  options: RangeFields<Encoding> & IterationOptions<Encoding, Encoding>,
): ScanRequest {
  const { reverse = false, limit = Infinity } = options;
  const valid = limit === Infinity || (Number.isSafeInteger(limit) && limit >= 0);
  return {
    keyspace,
    snapshot,
    range: encodeRange(options, options.keyEncoding ?? keyEncoding),
    reverse: checkBoolean("reverse", reverse),
    limit: check("limit", limit, valid, "an integer of at least 0"),
  };
}

function checkBytes(what: string, bytes: number | undefined, min: number): number | undefined {
  return checkNumber(what, bytes, min, MAX_BYTES, "bytes", Number.isSafeInteger);
}

/** Opening stores by name in a page, and calls whose code is loaded when the first of them is made. */

import type { Encoding } from "../api/data.ts";
import type { StoreOptions } from "../api/options.ts";
import { checked, STORE } from "../codec/options.ts";
import { toDefaults, toRequest, toThreads } from "../codec/requests.ts";
import { checkBoolean } from "../codec/validate.ts";
import { Db } from "./db.ts";
import { canLead } from "./election.ts";
import { checkFiles, checkHere } from "./here.ts";
import { later } from "./load.ts";
import { openSession } from "./open-session.ts";
import { starting } from "./start-worker.ts";

/** Options that only `open` of a page accepts. */
const OPEN = { exclusive: 0, worker: 0 };

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
 * that page is gone, another takes over. Shared workers and service workers can open a store that a page has open.
 */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: OpenOptions<K, V> = {},
): Promise<Db<K, V>> {
  const request = toRequest(name, checked(options, STORE, OPEN));
  if (options.wasm !== undefined) request.wasm = (await later()).toModule(options.wasm);
  const defaults = toDefaults(options);
  const isShared = !checkBoolean("exclusive", options.exclusive ?? false);
  const mayLead = canLead();
  if (isShared && request.storage === "opfs" && !mayLead) await checkFiles();
  else await checkHere(request.storage, options.worker);
  toThreads(options.threads);
  request.threads =
    globalThis.crossOriginIsolated && mayLead
      ? (await later()).chooseThreads(options)
      : { count: 0, reason: "the page is not cross-origin isolated" };
  const worker = await starting(request.threads.count > 0, options.worker);
  return new Db(name, await openSession(worker, request, isShared, options.signal), defaults);
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
  await (await later()).importStore(name, source, options);
}

/** Deletes the store of that name, if it exists. It must not be open anywhere. */
export async function destroy(
  name: string,
  options: Pick<OpenOptions, "timeout" | "worker"> = {},
): Promise<void> {
  await (await later()).destroy(name, options);
}

/** Returns the names of all stores in the origin private file system, in the order of their characters. */
export async function stores(): Promise<string[]> {
  return (await later()).stores();
}

/** Returns whether there is a store of that name in the origin private file system, open or not. */
export async function exists(name: string): Promise<boolean> {
  return (await later()).exists(name);
}

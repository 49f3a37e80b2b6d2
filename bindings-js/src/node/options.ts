/** The options of stores in Node, validated and turned into requests. */

import { type Stats, statSync } from "node:fs";
import type { Encoding } from "../api/data.ts";
import { InvalidArgumentError, IoError } from "../api/errors.ts";
import type { StoreOptions } from "../api/options.ts";
import { checked, STORE } from "../codec/options.ts";
import type { OpenRequest } from "../codec/protocol.ts";
import { toRequest } from "../codec/requests.ts";
import { checkBoolean, oneOf } from "../codec/validate.ts";

/** The form of a store on files: a directory with a file for each table, or one file. */
export type Layout = "directory" | "file";

/** Options of a store in Node. */
export interface NodeOptions<K extends Encoding = "utf8", V extends Encoding = "utf8"> extends Omit<
  StoreOptions<K, V>,
  "storage" | "wasm"
> {
  /** The place of the store: files (default), or memory, of which nothing is left after `close`. */
  storage?: "files" | "memory" | undefined;
  /**
   * The form of the store: a directory (default), as the command line makes it, or one file, as a page exports it and
   * `importStore` reads it.
   */
  layout?: Layout | undefined;
  /** Whether the store is opened for reading; other read-only processes can open it as well. False by default. */
  readOnly?: boolean | undefined;
}

/** A request to open a store on files. */
export interface NodeRequest extends OpenRequest {
  layout: Layout;
  readOnly: boolean;
}

const { wasm: _browser, ...OPTIONS } = { ...STORE, layout: 0, readOnly: 0 };

/** The options that only a browser has. */
const BROWSER = ["exclusive", "wasm", "worker"];

/** Throws, by its name, if there is an option that only a browser has. */
export function refuseBrowserOptions(options: object): void {
  for (const name of BROWSER) {
    // What is no object is refused with the others.
    if (!Object.hasOwn(Object(options), name)) continue;
    throw new InvalidArgumentError(
      `options: expected options of a store in Node, found ${name}, which only a browser has`,
    );
  }
}

/** The options as the engine's thread gets them. */
export function toNodeRequest<K extends Encoding, V extends Encoding>(
  path: string | URL,
  options: NodeOptions<K, V>,
): NodeRequest {
  refuseBrowserOptions(options);
  checked(options, OPTIONS);
  const { storage = "files", layout = "directory", readOnly = false, ...others } = options;
  const persistent = oneOf<string>("storage", storage, "files", "memory") === "files";
  const request = toRequest(path as string, {
    ...others,
    storage: persistent ? "opfs" : "memory",
  });
  // A store in memory has a name, and no path.
  const name = persistent ? request.name : String(path);
  const form = oneOf<Layout>("layout", layout, "directory", "file");
  if (persistent) checkLayout(name, form);
  const threads = { count: 0, reason: "the engine has threads of its own" };
  return { ...request, threads, name, layout: form, readOnly: checkBoolean("readOnly", readOnly) };
}

/** Throws if there is a file where a directory was asked for, or the other way round. */
export function checkLayout(path: string, layout: Layout): void {
  const found = statOf(path);
  if (found === undefined) return;
  const other: Layout = found.isDirectory() ? "directory" : "file";
  if (layout === other) return;
  throw new InvalidArgumentError(
    `layout: expected "${other}", since ${path} is a ${other}, found "${layout}"`,
  );
}

/** Returns what is at a path; undefined if nothing is. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new IoError(`could not stat ${path}: ${(cause as Error).message}`, { cause });
  }
}

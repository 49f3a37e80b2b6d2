/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The package for browsers in Node, for tests of applications and servers that render pages: stores in memory, whose
 * engine is the browser's module in a thread. Stores on files are those of `terrane-node`.
 */

import type { Encoding } from "../api/data.ts";
import type { Db } from "../client/db.ts";
import { type OpenOptions, open as openInPage } from "../client/open.ts";
import { startThread } from "./thread.ts";

export * from "../client/index.ts";

const worker = (): Worker => startThread(new URL("./node-worker.js", import.meta.url));

/** Opens a store, in memory: `storage` must say so. */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: OpenOptions<K, V> = {},
): Promise<Db<K, V>> {
  return openInPage(name, { worker, ...options });
}

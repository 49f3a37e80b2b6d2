/** The store that a call means, and its caller. */

import type { StoreRequest } from "./protocol.ts";
import { check, checkName, checkTime } from "./validate.ts";

const DEFAULT_TIMEOUT = 5000;

/** State that all copies of this package in a page or worker share. */
interface Here {
  id: string;
  copies: number;
}

const shared = globalThis as unknown as { [key: symbol]: Here | undefined };
const here: Here = (shared[Symbol.for("terrane")] ??= {
  id: globalThis.crypto?.randomUUID?.() ?? "",
  copies: 0,
});

/** Identifies this page or worker among those that may hold a store, and this copy of the package in it. */
const client = `${here.id} ${++here.copies}`;

/** Identifies the store of that name and this client. */
export function toStoreRequest(name: string, timeout: number = DEFAULT_TIMEOUT): StoreRequest {
  const expected = "1 to 100 characters without slashes or lone surrogates";
  checkName("name", name, /^[^/\\\0\p{Cs}]{1,100}$/u, expected);
  check("name", name, name !== "." && name !== "..", "a name other than . and ..");
  // The URL without its query, which may be private; that of a worker from a blob says nothing.
  const { origin = "", pathname = "", protocol } = globalThis.location ?? {};
  const page = protocol === "blob:" ? origin : origin + pathname;
  return { name, client, page, timeout: checkTime("timeout", timeout) };
}

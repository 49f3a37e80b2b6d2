/** The store that a call means: the one at a path. */

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { StoreRequest } from "../codec/protocol.ts";
import { check, checkTime, isTagged } from "../codec/validate.ts";

const DEFAULT_TIMEOUT = 5000;

/** Identifies the store at that path, or URL of a file. */
export function toStoreRequest(
  path: string | URL,
  timeout: number = DEFAULT_TIMEOUT,
): StoreRequest {
  const given =
    isTagged<URL>(path, "URL") && path.protocol === "file:" ? fileURLToPath(path) : path;
  const valid = typeof given === "string" && given !== "" && !given.includes("\0");
  check("path", path, valid, "a path, or the URL of a file");
  const name = resolve(given as string);
  return { name, client: "", page: "", timeout: checkTime("timeout", timeout) };
}

/** Errors of the creation of a store. */

import { InvalidArgumentError } from "../api/errors.ts";

/** Returns the error for the name of a new store that another store has, in the engine's words. */
export function taken(name: string): InvalidArgumentError {
  const expected = "place of a new store: expected no store there yet";
  return new InvalidArgumentError(`${expected}, found one in ${JSON.stringify(name)}`);
}

/** Returns the error of an import whose `bytes` of a file hold no store. */
export function noStoreIn(bytes: number): InvalidArgumentError {
  const found = bytes > 0 ? "others" : "none";
  return new InvalidArgumentError(`source: expected an exported store's bytes, found ${found}`);
}

/** Files of the package that could not be loaded. */

import { UnavailableError } from "../api/errors.ts";

/** Returns the error for a part of the package that could not be loaded; `why` names its file. */
export function notLoaded(what: string, why: unknown, cause: unknown): UnavailableError {
  const help = 'see "Bundlers" in the README of terrane';
  return new UnavailableError(`${what} could not be loaded: ${why}; ${help}`, { cause });
}

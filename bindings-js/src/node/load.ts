/** The code that a page loads later: in Node it is part of the package's one file. */

import * as elections from "../client/no-leader.ts";
import * as starts from "../client/not-started.ts";
import * as newStore from "../codec/new-store.ts";
import * as environment from "../shared/environment.ts";
import * as store from "../store/later.ts";
import type { Later } from "../store/port.ts";

/** Returns the code. */
export async function later(): Promise<
  Later & typeof newStore & typeof environment & typeof elections & typeof starts
> {
  return { ...store, ...newStore, ...environment, ...elections, ...starts };
}

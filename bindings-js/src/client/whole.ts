/**
 * The client with the parts that a page otherwise loads when they are first used: for service workers, which cannot
 * load code later.
 */

import * as newStore from "../codec/new-store.ts";
import * as wasmModule from "../codec/wasm-module.ts";
import * as environment from "../shared/environment.ts";
import * as stores from "../shared/stores.ts";
import * as store from "../store/later.ts";
import * as administration from "./administration.ts";
import { provide } from "./load.ts";
import * as elections from "./no-leader.ts";
import * as starts from "./not-started.ts";
import * as elsewhere from "./start-elsewhere.ts";
import * as threads from "./threads.ts";

export * from "./index.ts";

provide({
  ...newStore,
  ...wasmModule,
  ...environment,
  ...stores,
  ...store,
  ...administration,
  ...elections,
  ...starts,
  ...elsewhere,
  ...threads,
});

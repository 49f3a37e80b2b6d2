/**
 * The client with the parts that a page otherwise loads when they are first used: for service workers, which cannot
 * load code later.
 */

import { taken } from "../codec/new-store.ts";
import { toModule } from "../codec/wasm-module.ts";
import { checkPrivateFiles, unavailable } from "../shared/environment.ts";
import { exists, stores } from "../shared/stores.ts";
import {
  changes,
  decodeConflicts,
  exportStream,
  fromJson,
  live,
  transact,
} from "../store/later.ts";
import { destroy, importStore } from "./administration.ts";
import { provide } from "./load.ts";
import { noLeader } from "./no-leader.ts";
import { notStarted } from "./not-started.ts";
import { startElsewhere } from "./start-elsewhere.ts";
import { chooseThreads } from "./threads.ts";

export * from "./index.ts";

// By their names: for a module as an object, bundlers would add code to what a page loads first.
provide({
  changes,
  checkPrivateFiles,
  chooseThreads,
  decodeConflicts,
  destroy,
  exists,
  exportStream,
  fromJson,
  importStore,
  live,
  noLeader,
  notStarted,
  startElsewhere,
  stores,
  taken,
  toModule,
  transact,
  unavailable,
});

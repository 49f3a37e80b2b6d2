/** The engine in Node: the addon, which has the files and threads of its own. */

import type { Store } from "../../wasm/terrane.js";
import type { OpenRequest } from "../codec/protocol.ts";
import { whileBusy } from "./busy.ts";
import { Files } from "./files.ts";
import type { Module } from "./module.ts";
import type { NodeRequest } from "./options.ts";

export { checkpoint, destroyFiles, endExport, exportFile, Import } from "./copies.ts";
export { Files } from "./files.ts";
export { Gets } from "./gets.ts";
export { Lookups } from "./lookups.ts";
export { Module } from "./module.ts";

/** Whether the engine runs background jobs and syncs by itself. */
export const IN_BACKGROUND = true;

/** A store that the engine has opened. */
export interface OpenedStore {
  module: Module;
  store: Store;
  /** Undefined for a store in memory. */
  files: Files | undefined;
}

/** Opens the store; while another process holds it, tries again until the timeout. */
export async function openStore(
  request: OpenRequest,
  loading: Promise<Module>,
): Promise<OpenedStore> {
  const module = await loading;
  const { name, layout, storage, filterBits } = request as NodeRequest;
  const persistent = storage === "opfs";
  const open = () =>
    module.addon.Store.open({
      ...(request as NodeRequest),
      path: persistent ? name : undefined,
      oneFile: layout === "file",
      filterThousandths: filterBits === undefined ? undefined : Math.round(filterBits * 1000),
    });
  const store = await whileBusy(() => module.later(open), request.timeout);
  const files = persistent ? new Files(name, layout) : undefined;
  return { module, store: store as unknown as Store, files };
}

/** Returns nothing: a thread's end is seen without a lock. */
export async function holdLifeLock(): Promise<undefined> {}

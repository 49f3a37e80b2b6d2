/** The parts of the client that are loaded when they are first used, with whole.ts. */

import { notLoaded } from "../shared/not-loaded.ts";
import type { Later } from "../store/port.ts";

/** Exports of these parts that the client uses. */
type Parts = Later &
  Pick<typeof import("../codec/new-store.ts"), "taken"> &
  typeof import("../codec/wasm-module.ts") &
  typeof import("../shared/environment.ts") &
  typeof import("../shared/stores.ts") &
  typeof import("./administration.ts") &
  typeof import("./no-leader.ts") &
  typeof import("./not-started.ts") &
  typeof import("./start-elsewhere.ts") &
  typeof import("./threads.ts");

let parts: Parts | undefined;

/** Sets the parts, which have been loaded. */
export function provide(loaded: Parts): void {
  parts = loaded;
}

/** Returns the parts; the first call loads them. */
export async function later(): Promise<Parts> {
  try {
    if (parts === undefined) await import("./whole.ts");
  } catch (cause) {
    const what = 'a part of the client, which service workers import with it as "terrane/whole",';
    throw notLoaded(what, cause, cause);
  }
  return parts as unknown as Parts;
}

/** The visitor's own store, which stays on this device: its data are there again after a reload. */

import type { TerraneError } from "terrane";
import { engine } from "./engine.ts";
import { DEFAULTS, engineDefaults, livePolicy, type Settings } from "./settings.ts";
import type { StoreSource } from "./store-recording.ts";
import { messageOf } from "../message.ts";

const NAME = "demo";

/** Small, so that a load creates many runs. */
const MEMTABLE_BYTES = 1 << 20;

/** Small, so that a few megabytes make a tree of several levels. */
const SIZES: Settings["parameters"] = {
  sizeRatio: 4,
  levelBaseBytes: 512 << 10,
  targetFileBytes: 128 << 10,
  splitBytes: 128 << 10,
};

/** The store. */
export const ownStore: StoreSource = {
  preparing: "Your store is opened.",

  parametersOf: (policy) => {
    const usual = Object.entries(engineDefaults(policy));
    return Object.fromEntries(usual.map(([name, value]) => [name, SIZES[name] ?? value]));
  },

  async open(use) {
    const { open } = await engine();
    await use(async (shared) => {
      const options = { ...shared, memtableBytes: MEMTABLE_BYTES };
      try {
        return await open(NAME, { ...options, create: false });
      } catch (error) {
        if ((error as Partial<TerraneError>).code !== "not-found") throw error;
        const parameters = ownStore.parametersOf("leveled");
        const policy = livePolicy({ ...DEFAULTS, policy: "leveled", parameters });
        return open(NAME, { ...options, policy });
      }
    });
  },

  explain: messageOf,
};

/** Deletes the store, which must be closed. */
export async function removeOwnStore(): Promise<void> {
  const { destroy } = await engine();
  await destroy(NAME);
}

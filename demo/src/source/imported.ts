/**
 * A copy of an exported store. The file is imported as a store of its own, which one tab has at a time, and which
 * is removed when it is closed. The file, and other stores of this origin, stay as they are.
 */

import type { TerraneError } from "terrane";
import { engine } from "./engine.ts";
import type { Status } from "./recording.ts";
import { engineDefaults } from "./settings.ts";
import type { StoreSource, Use } from "./store-recording.ts";
import { messageOf } from "../message.ts";

/** The store's name, and the lock of the tab that has it: also between an import and the opening. */
const NAME = "visualizer-import";
const LOCK = "terrane visualizer import";

/** Longest wait for another tab, in milliseconds: one that is being closed needs a moment. */
const PATIENCE = 5000;

/** Removes the store of a tab that was closed in between, unless another tab has it. */
export async function removeImport(): Promise<void> {
  try {
    const { destroy } = await engine();
    await navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await destroy(NAME);
    });
  } catch {
    // A later import reports the error.
  }
}

/** A copy of the store in a file. */
export class ImportedStore implements StoreSource {
  readonly preparing: string;
  readonly parametersOf: StoreSource["parametersOf"] = engineDefaults;
  readonly #file: File;

  constructor(file: File) {
    this.#file = file;
    this.preparing = this.#progress("is copied", 0);
  }

  async open(use: Use, report: (status: Status) => void, stopped: AbortSignal): Promise<void> {
    let granted = false;
    const patience = AbortSignal.timeout(PATIENCE);
    const signal = AbortSignal.any([patience, stopped]);
    try {
      await navigator.locks.request(LOCK, { signal }, () => {
        granted = true;
        return this.#import(use, report, stopped);
      });
    } catch (error) {
      if (granted || !patience.aborted) throw error;
      throw new Error("another tab shows an imported store; close it there first.");
    }
  }

  explain(error: unknown): string {
    const { name, size } = this.#file;
    const why = messageOf(error);
    // The package's own error names files of the store, not the one that was opened.
    const found = size === 0 ? "an empty file" : "other bytes";
    return (error as Partial<TerraneError>).code === "not-found"
      ? `${name} is not an exported store: expected a superblock at its beginning, found ${found}.`
      : `${name} cannot be shown: ${why}`;
  }

  async #import(use: Use, report: (status: Status) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { destroy, importStore, open } = await engine();
    await destroy(NAME);
    try {
      await importStore(NAME, this.#counted(report), { signal });
      await use((options) => open(NAME, { ...options, create: false }));
    } finally {
      // What went wrong before says more than that this did.
      await destroy(NAME).catch(() => undefined);
    }
  }

  /** The file's bytes, and how many of them were taken. */
  #counted(report: (status: Status) => void): ReadableStream<Uint8Array> {
    let taken = 0;
    const tell = (what: string, share: number | undefined) =>
      report({ at: "running", share, preparing: this.#progress(what, share) });
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        taken += chunk.length;
        tell("is copied", taken / this.#file.size);
        controller.enqueue(chunk);
      },
      flush: () => tell("is verified", undefined),
    });
    return this.#file.stream().pipeThrough(count);
  }

  #progress(what: string, share: number | undefined): string {
    const done = share === undefined ? "" : `: ${Math.floor(share * 100)} %`;
    return `${this.#file.name} ${what}${done}.`;
  }
}

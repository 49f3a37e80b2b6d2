/** The addon as the engine of this package: calls of it, whose errors become errors of this package. */

import type { Steps, Store } from "../../wasm/terrane.js";
import { EngineError, type TerraneError } from "../api/errors.ts";
import { isEncodedError, toError } from "../codec/thrown.ts";
import { type Addon, loadAddon } from "./addon.ts";

/** Room for a key and for most values. */
const MEMORY_BYTES = 128 << 10;

let loaded: Module | undefined;

/** The addon. */
export class Module {
  readonly addon: Addon;
  /** The classes that the engine asks for. */
  readonly glue: { Steps: new () => Steps };
  #memory: Uint8Array<ArrayBuffer> = new Uint8Array(MEMORY_BYTES);

  private constructor(addon: Addon) {
    this.addon = addon;
    this.glue = addon;
  }

  /** Loads the addon, once. */
  static async load(..._build: unknown[]): Promise<Module> {
    return (loaded ??= new Module(loadAddon()));
  }

  /** Memory for the key of a get and then its value, of at least that many bytes. */
  memory(bytes: number = 0): Uint8Array<ArrayBuffer> {
    if (this.#memory.length >= bytes) return this.#memory;
    // A large one is not kept.
    return new Uint8Array(bytes);
  }

  /** Runs `body`, which calls the addon; whatever it throws becomes an error of this package. */
  call<T>(body: () => T): T {
    try {
      return body();
    } catch (error) {
      throw thrown(error);
    }
  }

  /** Runs `body`, which calls the addon and gets its answer by a promise. */
  async later<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      throw thrown(error);
    }
  }

  /** Frees an object of the addon. */
  release(object: { free(): void } | Store | undefined): void {
    object?.free();
  }
}

/** Converts an error of the addon into an error of this package. */
export function thrown(error: unknown): TerraneError {
  if (isEncodedError(error)) return toError(error);
  return new EngineError(`the engine could not be called: ${error}`, { cause: error });
}

/** Lookups of single keys by the addon. */

import type { Store } from "../../wasm/terrane.js";
import { decode } from "../codec/bytes.ts";
import type { Engine } from "../engine/engine.ts";
import { Gets } from "./gets.ts";
import type { Module } from "./module.ts";

/** Lookups in one store, or in what a client has of it. */
export class Lookups {
  readonly #gets: Gets;

  constructor(engine: Engine, view?: Store) {
    const module = engine.module as unknown as Module;
    this.#gets = new Gets({ module, call: (body) => engine.call(body, view) });
  }

  /** Returns the value of a key: as `text` if it is valid UTF-8, otherwise in bytes. */
  find(
    keyspace: number,
    snapshot: number,
    key: string,
    text: boolean,
  ): string | Uint8Array | undefined {
    const found = this.#gets.find(keyspace, snapshot, key);
    if (found === undefined || !text) return found?.slice();
    try {
      return decode(found, "utf8");
    } catch {
      return found.slice();
    }
  }
}

/**
 * Watches of an engine's store. A client asks for the next change of a watch; the engine collects until it does, and
 * answers once a turn, after the replies to the writes.
 */

import { ByteList } from "../codec/byte-list.ts";
import type { Store } from "../../wasm/terrane.js";
import type { Changed, WatchRequest } from "../codec/protocol.ts";
import type { Engine } from "./engine.ts";

/** The size of a watch's number, and of a sequence number. */
const NUMBER_BYTES = 4;
const SEQUENCE_BYTES = 8;

interface Question {
  resolve(changed: Changed | undefined): void;
  reject(reason: unknown): void;
}

export class Watches {
  readonly #engine: Engine;
  /** The client's own tables over the store; undefined for the first client. */
  readonly #view: Store | undefined;
  readonly #asked: Map<number, Question> = new Map();

  constructor(engine: Engine, view?: Store) {
    this.#engine = engine;
    this.#view = view;
  }

  /** Asks for the next change; resolves to undefined if the watch ends first. */
  ask({ watch, ranges, keys }: WatchRequest): Promise<Changed | undefined> {
    this.#engine.call((store) => store.watch(watch, ranges, keys, true), this.#view);
    // It may have changed already.
    this.#engine.scheduleTurn();
    return new Promise((resolve, reject) => this.#asked.set(watch, { resolve, reject }));
  }

  /** Answers the questions about what has changed. */
  answer(): void {
    if (this.#asked.size === 0 || this.#engine.closed) return;
    const changes = this.#engine.call((store) => store.changes(), this.#view);
    for (const [watch, changed] of decode(changes)) {
      this.#settle(watch, ({ resolve }) => resolve(changed));
    }
  }

  /** Ends a watch. */
  end(watch: number): void {
    if (!this.#engine.closed) this.#engine.call((store) => store.unwatch(watch), this.#view);
    this.#settle(watch, ({ resolve }) => resolve(undefined));
  }

  /** Ends all, with an error if there is one. */
  endAll(failure?: unknown): void {
    for (const watch of this.#asked.keys()) {
      if (failure === undefined) this.end(watch);
      else this.#settle(watch, ({ reject }) => reject(failure));
    }
  }

  #settle(watch: number, settle: (question: Question) => void): void {
    const question = this.#asked.get(watch);
    this.#asked.delete(watch);
    if (question !== undefined) settle(question);
  }
}

/** For each watch its number, the sequence number, a byte, 1 if there are keys, and their list. */
function* decode(bytes: Uint8Array): Generator<[number, Changed]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const watch = view.getUint32(at, true);
    at += NUMBER_BYTES;
    const sequence = view.getFloat64(at, true);
    at += SEQUENCE_BYTES;
    const hasKeys = view.getUint8(at++) === 1;
    const { end } = new ByteList(bytes, at);
    // A copy: each is transferred by itself.
    yield [watch, { sequence, bytes: hasKeys ? bytes.slice(at, end) : undefined }];
    at = end;
  }
}

/** The calls of a store in the worker that holds it: calls of its engine. */

import type { Scan } from "../../wasm/terrane.js";
import type { Bytes, Decoded, Encoding } from "../api/data.ts";
import { ClosedError, type TerraneError } from "../api/errors.ts";
import type { WaitOptions } from "../api/options.ts";
import { ByteList } from "../codec/byte-list.ts";
import { encodeKey } from "../codec/bytes.ts";
import { decodeList } from "../codec/decode-list.ts";
import { Encoder, MAX_BATCH_BYTES } from "../codec/encoder.ts";
import { wrapErrors } from "../codec/thrown.ts";
import { FIRST_PAGE_BYTES, PAGE_BYTES, type Projection } from "../codec/projection.ts";
import type {
  Arguments,
  Changed,
  Method,
  Methods,
  RowsRequest,
  ScanRequest,
} from "../codec/protocol.ts";
import { toKeys } from "../codec/requests.ts";
import { toStoreRequest } from "#store-request";
import { checkLength } from "../codec/validate.ts";
import { checkpoint, endExport, exportFile, Gets } from "#platform";
import type { Engine } from "../engine/engine.ts";
import { Watches } from "../engine/watches.ts";
import { invoke, isSteps } from "../engine/methods.ts";
import { runToEnd } from "../engine/tasks.ts";
import { ignoreResult } from "../shared/abort.ts";
import { type Listener, Listeners } from "../shared/events.ts";
import { OpenHere } from "../shared/open-here.ts";
import { started } from "../shared/finalization.ts";
import * as later from "../store/later.ts";
import type {
  ExportedFile,
  HeldCursor,
  HeldSnapshot,
  HeldWatch,
  Later,
  OpenedKeyspace,
  Port,
} from "../store/port.ts";

/** The most entries that are counted in one step. */
const COUNT_STEP = 0xffff_ffff;

/** An encoder that holds more bytes than this is not reused. */
const SPARE_BYTES = 1 << 20;

/** The methods that leave background jobs, besides those that run in steps. */
const WITH_JOBS: ReadonlySet<Method> = new Set<Method>([
  "drop_keyspace",
  "drop_quarantine",
  "set_policy",
]);

export class EnginePort implements Port<"sync"> {
  readonly waits: object = {};
  readonly isSync = true;
  readonly #name: string;
  readonly #engine: Engine;
  readonly #listeners: Listeners;
  /** The numbers of open keyspaces, by name. */
  readonly #keyspaces: Map<string, number> = new Map();
  #nextKeyspace = 1;
  #nextSnapshot = 1;
  readonly #gets: Gets;
  #nextWatch = 1;
  readonly #watches: Watches;
  #spare: Encoder | undefined = new Encoder();
  /** Undefined for a store in memory. */
  readonly #here: OpenHere | undefined;

  constructor(name: string, engine: Engine) {
    this.#name = name;
    this.#engine = engine;
    if (engine.files !== undefined) this.#here = new OpenHere(name);
    this.#gets = new Gets(engine);
    this.#listeners = new Listeners((on) => {
      const emit = (json: string) => this.#listeners.dispatch([json]);
      engine.call((store) => {
        store.listen(on ? emit : undefined);
        if (on) this.#listeners.setNames(store.keyspaces());
      });
    });
    this.#watches = new Watches(engine);
    engine.onTurn = () => this.#watches.answer();
    engine.onFailure = (failure) => this.#end(failure);
  }

  run<O extends WaitOptions, T>(
    _opened: Promise<unknown> | undefined,
    options: () => O,
    start: (options: O) => T,
  ): T {
    return start(options());
  }

  map<T, U>(result: T, next: (value: T) => U): U {
    return next(result);
  }

  later(): Later {
    return later;
  }

  invoke<N extends Method>(method: N, ...args: Arguments<N>): ReturnType<Methods[N]> {
    const engine = this.#engine;
    const result = invoke(engine, method, args);
    const inSteps = isSteps(engine, result);
    const value = inSteps ? runToEnd(engine, result) : result;
    if (inSteps || WITH_JOBS.has(method)) engine.scheduleTurn();
    return value as ReturnType<Methods[N]>;
  }

  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Decoded<E> | undefined {
    return this.#gets.get(keyspace, snapshot, key, encoding);
  }

  getMany<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): (Decoded<E> | undefined)[] {
    const values = this.#gets.getMany(keyspace, snapshot, toKeys(keys));
    const list = new ByteList(values.bytes, values.at);
    // A decoder of the caller's may call the module, which changes its memory.
    const lasting = typeof encoding === "object" ? list.copied() : list;
    return decodeList(lasting, encoding, 0, keys.length, (at) => encodeKey(keys[at] as Bytes));
  }

  write(sync: boolean, fill: (batch: Encoder) => void): number {
    const batch = this.#spare ?? new Encoder();
    this.#spare = undefined;
    try {
      fill(batch);
      checkLength("batch", batch.length, MAX_BATCH_BYTES);
      const sequence = this.#engine.write(batch.bytes());
      if (sync) this.#engine.sync();
      return sequence;
    } finally {
      const small = batch.length <= SPARE_BYTES;
      batch.truncate(0);
      if (small) this.#spare = batch;
    }
  }

  iterate<T>(
    request: ScanRequest,
    { keys, values, decode: rowsOf }: Projection<T>,
  ): Generator<T, void, undefined> {
    const [engine, gets] = [this.#engine, this.#gets];
    const scan = this.#scan(request);
    // If the iteration is never finished, wasm-bindgen's finalization registry frees the scan.
    return started(
      (function* () {
        try {
          yield undefined as never;
          let bytes = FIRST_PAGE_BYTES;
          while (!scan.done) {
            const page = gets.page(scan, bytes, keys, values);
            yield* rowsOf(page.bytes, page.at);
            bytes = PAGE_BYTES;
          }
        } finally {
          endScan(engine, scan);
        }
      })(),
    );
  }

  cursor(request: ScanRequest): HeldCursor<"sync"> {
    const engine = this.#engine;
    const scan = this.#scan(request);
    const rows = ({ seek, count, back, keys, values }: RowsRequest) =>
      engine.call(() => scan.rows(seek, count, back, keys, values));
    return { rows, close: () => endScan(engine, scan) };
  }

  watch(ranges: Uint8Array, keys: boolean): HeldWatch {
    const watches = this.#watches;
    const watch = this.#nextWatch++;
    this.invoke("watch", watch, ranges, keys, false);
    const next = async (): Promise<Changed> => {
      const changed = await watches.ask({ watch, ranges, keys });
      if (changed !== undefined) return changed;
      throw new ClosedError("the watch has ended");
    };
    return { next, close: () => watches.end(watch) };
  }

  collect<T>(iteration: Generator<T, void, undefined>): T[] {
    return [...iteration];
  }

  count(request: ScanRequest): number {
    const scan = this.#scan(request);
    try {
      let total = 0;
      while (!scan.done) total += this.#engine.call(() => scan.count(COUNT_STEP));
      return total;
    } finally {
      endScan(this.#engine, scan);
    }
  }

  keyspace(name: string, create: boolean, policy: string | undefined): OpenedKeyspace {
    const known = this.#keyspaces.get(name);
    if (known !== undefined && policy === undefined) return { keyspace: known, opened: undefined };
    const keyspace = known ?? this.#nextKeyspace++;
    this.#engine.call((store) => store.keyspace(keyspace, name, create, policy));
    this.#keyspaces.set(name, keyspace);
    return { keyspace, opened: undefined };
  }

  dropKeyspace(name: string): boolean {
    this.#keyspaces.delete(name);
    return this.invoke("drop_keyspace", name);
  }

  snapshot(): HeldSnapshot {
    const [engine, listeners, name] = [this.#engine, this.#listeners, this.#name];
    const snapshot = this.#nextSnapshot++;
    engine.call((store) => store.snapshot(snapshot));
    const release = () => {
      // Closing the store has released its snapshots.
      if (!engine.closed) engine.call((store) => store.release(snapshot));
    };
    const forgotten = () => {
      if (engine.closed) return;
      release();
      listeners.reportForgotten(name);
    };
    return { snapshot, release, forgotten };
  }

  isSameStore(other: Port<"sync">): boolean {
    return other === this;
  }

  listen(listener: Listener): () => void {
    return this.#listeners.add(listener);
  }

  async checkpoint(name: string, timeout: number | undefined): Promise<void> {
    const request = toStoreRequest(name, timeout);
    await wrapErrors(async () => (await checkpoint(this.#engine, request)).end);
  }

  async exportFile(): Promise<ExportedFile> {
    const engine = this.#engine;
    const { blob, file } = await wrapErrors(async () => (await exportFile(engine)).end);
    const end = () => {
      if (file !== undefined) ignoreResult(endExport(engine, file));
    };
    return { blob, end };
  }

  close(): void {
    const closed = new ClosedError("the store is closed");
    try {
      this.#engine.close(closed);
    } finally {
      this.#end(closed);
    }
  }

  #end(reason: TerraneError): void {
    this.#here?.end();
    this.#listeners.end(reason);
    this.#watches.endAll(reason);
  }

  #scan({ keyspace, snapshot, range, reverse, limit }: ScanRequest): Scan {
    return this.#engine.call((store) => store.scan(keyspace, snapshot, range, reverse, limit));
  }
}

function endScan(engine: Engine, scan: Scan): void {
  engine.module.release(scan);
  // Files that only the scan needed can be removed.
  engine.scheduleTurn();
}

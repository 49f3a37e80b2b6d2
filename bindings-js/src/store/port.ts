/**
 * A store's calls, sent as messages to the worker that holds it or made on the engine: all in which the two
 * implementations of a store differ.
 */

import type { Bytes, Decoded, Encoding } from "../api/data.ts";
import type { WaitOptions } from "../api/options.ts";
import type { Iteration, Mode, Result } from "../api/store.ts";
import type { Encoder } from "../codec/encoder.ts";
import type { Projection } from "../codec/projection.ts";
import type {
  Arguments,
  Changed,
  Method,
  Methods,
  RowsRequest,
  ScanRequest,
} from "../codec/protocol.ts";
import type { Listener } from "../shared/events.ts";

/** A keyspace under its number. */
export interface OpenedKeyspace {
  keyspace: number;
  /** Rejects with the reason if the keyspace cannot be opened; undefined once it is open. */
  opened: Promise<unknown> | undefined;
}

/** A snapshot under its number, held until it is released. */
export interface HeldSnapshot {
  snapshot: number;
  release(): void;
  /** Releases it, and reports that its owner did not. */
  forgotten(): void;
}

/** The state of a cursor, held until it is closed. */
export interface HeldCursor<M extends Mode> {
  /** Returns a page of rows. */
  rows(request: RowsRequest): Result<M, Uint8Array>;
  close(): void;
}

/** A watch, which collects changes from the call on that returned it. */
export interface HeldWatch {
  /** Waits for changes since the last that were returned. */
  next(): Promise<Changed>;
  close(): void;
}

/** A store as a file. */
export interface ExportedFile {
  blob: Blob;
  /** Removes the file. */
  end(): void;
}

/** Code that a page loads when it is first used. */
export type Later = typeof import("./later.ts");

export interface Port<M extends Mode> {
  /** The names of the options that every call takes. */
  readonly waits: object;

  /**
   * Runs a call with the options that `options` checks: its error is thrown, or rejects the promise that it
   * returns. A signal ends the wait. If the keyspace did not open, that is the error.
   */
  run<O extends WaitOptions, T>(
    opened: Promise<unknown> | undefined,
    options: () => O,
    start: (options: O) => Result<M, T>,
  ): Result<M, T>;

  /** Applies `next` to the value of a result. (Not `then`: a port would be taken for a promise.) */
  map<T, U>(result: Result<M, T>, next: (value: T) => U | Result<M, U>): Result<M, U>;

  /** Returns the code that is not loaded from the start. */
  later(): Result<M, Later>;

  /** Whether calls return results rather than promises. */
  readonly isSync: boolean;

  /** Calls a method of the engine's store. */
  invoke<N extends Method>(method: N, ...args: Arguments<N>): Result<M, ReturnType<Methods[N]>>;

  /** Looks a key up. */
  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Result<M, Decoded<E> | undefined>;

  /** Looks keys up. */
  getMany<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): Result<M, (Decoded<E> | undefined)[]>;

  /** Writes the operations that `fill` encodes. If `fill` may call the store, its calls take effect first. */
  write(sync: boolean, fill: (batch: Encoder) => void, mayCall: boolean): Result<M, number>;

  /** Iterates over a projection of a scan's entries; `run` runs each call. */
  iterate<T>(
    request: ScanRequest,
    projection: Projection<T>,
    run: <R>(start: () => Result<M, R>) => Result<M, R>,
  ): Iteration<M, T>;

  /** Starts a scan for a cursor. */
  cursor(request: ScanRequest): HeldCursor<M>;

  /**
   * Watches ranges, each after the number of its keyspace and its length; `keys` asks for the changed keys. A hidden
   * page takes changes only if `always`.
   */
  watch(ranges: Uint8Array, keys: boolean, always?: boolean): HeldWatch;

  /** Returns all items of an iteration. */
  collect<T>(iteration: Iteration<M, T>): Result<M, T[]>;

  /** Counts the entries of a scan. */
  count(request: ScanRequest, options: WaitOptions): Result<M, number>;

  /** Opens a keyspace. */
  keyspace(name: string, create: boolean, policy: string | undefined): OpenedKeyspace;

  /** Drops a keyspace. */
  dropKeyspace(name: string): Result<M, boolean>;

  /** Takes a snapshot. */
  snapshot(): HeldSnapshot;

  /** Whether both are ports of one store. */
  isSameStore(other: Port<M>): boolean;

  /** Adds a listener; the returned function removes it. */
  listen(listener: Listener): () => void;

  /** Copies the store to another name. */
  checkpoint(name: string, timeout: number | undefined): Promise<void>;

  /** Exports the store as a file. */
  exportFile(): Promise<ExportedFile>;

  close(): Result<M, void>;
}

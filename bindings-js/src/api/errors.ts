/**
 * The ways in which a call can fail: a class, a stable `code`, and a message that says what was
 * expected and what was found. Each `name` is spelled out because minifiers rename classes.
 */

import type { EngineErrorCode } from "./engine-errors.ts";

export type { EngineErrorCode };

/** The base class of all errors that this package throws. */
export abstract class TerraneError extends Error {
  /** The kind of failure; stable across releases. */
  abstract readonly code: ErrorCode;
}

/** Another tab, worker or process keeps the store for itself, or does not answer; the message says which. */
export class BusyError extends TerraneError {
  override readonly name = "BusyError";
  readonly code = "busy";
}

/**
 * No store can be opened here: a browser has no private file system (an old one, private mode, a sandboxed frame, no
 * HTTPS), Node has no addon for the platform, or a file of this package could not be loaded.
 * A call fails with it as well if the worker that has the store is of another release, which does not know the call.
 */
export class UnavailableError extends TerraneError {
  override readonly name = "UnavailableError";
  readonly code = "unavailable";
}

/**
 * The origin's storage quota is exhausted, or the disk or memory is full. Reads still succeed, and so do writes
 * that need no more room, unless the message says to reopen the store.
 */
export class QuotaError extends TerraneError {
  override readonly name = "QuotaError";
  readonly code = "quota";
}

/** Fields of an error beside its message. */
export interface ErrorDetails extends ErrorOptions {
  file?: string;
  offset?: number;
  cursor?: string;
}

/** Stored data is damaged. */
export class CorruptError extends TerraneError {
  override readonly name = "CorruptError";
  readonly code = "corrupt";
  /** The damaged file. */
  readonly file: string | undefined;
  /** Position in the file, in bytes. */
  readonly offset: number | undefined;

  constructor(message: string, options: ErrorDetails = {}) {
    super(message, options);
    this.file = options.file;
    this.offset = options.offset;
  }
}

/** The store, keyspace, snapshot or iteration is closed. */
export class ClosedError extends TerraneError {
  override readonly name = "ClosedError";
  readonly code = "closed";
}

/** A signal, or the suspension of the page, aborted the call. What it already requested may still take effect. */
export class AbortError extends TerraneError {
  override readonly name = "AbortError";
  readonly code = "aborted";
}

/** An argument is invalid. The call had no effect. */
export class InvalidArgumentError extends TerraneError {
  override readonly name = "InvalidArgumentError";
  readonly code = "invalid-argument";
}

/** The store or keyspace does not exist and was not to be created. */
export class NotFoundError extends TerraneError {
  override readonly name = "NotFoundError";
  readonly code = "not-found";
}

/** The store was written by a later release of this package. */
export class NewerFormatError extends TerraneError {
  override readonly name = "NewerFormatError";
  readonly code = "newer-format";
}

/**
 * The change feed cannot continue from a cursor: the next batches are no longer kept, the store has another history, or
 * it is behind the cursor. Read the store anew.
 */
export class CursorGoneError extends TerraneError {
  override readonly name = "CursorGoneError";
  readonly code = "cursor-gone";
  /** The end of the feed, from which it can continue. */
  readonly cursor: string;

  constructor(message: string, options: ErrorDetails = {}) {
    super(message, options);
    this.cursor = options.cursor ?? "";
  }
}

/** The browser or the operating system failed a file operation. */
export class IoError extends TerraneError {
  override readonly name = "IoError";
  readonly code = "io";
}

/** The store was opened read-only, or lies on a file system that is. */
export class ReadOnlyError extends TerraneError {
  override readonly name = "ReadOnlyError";
  readonly code = "read-only";
}

/** The engine crashed. Acknowledged writes are safe; open the store again. */
export class EngineError extends TerraneError {
  override readonly name = "EngineError";
  readonly code = "engine";
}

/** A condition that did not hold when its batch was to be committed. */
export interface Conflict {
  /** The condition's index. */
  condition: number;
  /** Its key, or a key of its range that was written, in the encoding of its keyspace. */
  key: any;
  /** The key's value; undefined if it has none. */
  value: any;
  /** The sequence number of the write that set the value. */
  sequence: number | undefined;
  /** The time at which the value expires, in milliseconds since the epoch; undefined if it does not. */
  expiresAt: number | undefined;
}

/** Conditions of a batch did not hold: nothing was written. */
export class ConflictError extends TerraneError {
  override readonly name = "ConflictError";
  readonly code = "conflict";
  /** The conditions that did not hold, in their order. */
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[], message: string) {
    super(message);
    this.conflicts = conflicts;
  }
}

/** All error codes: those of the engine, and those of this package. */
export type ErrorCode =
  Exclude<EngineErrorCode, "left-out"> | "unavailable" | "aborted" | "conflict" | "engine";

/**
 * Every way in which a call can fail: a class, a stable `code`, and a sentence that says what was
 * expected and what was found. Names are given in so many words, since minifiers change those of
 * classes.
 */

/** The base of every error that this package throws. */
export abstract class TerraneError extends Error {
  /** Names the kind of failure; stable across releases. */
  abstract readonly code: ErrorCode;
}

/** Another tab or worker holds the store; the sentence says which. */
export class BusyError extends TerraneError {
  override readonly name = "BusyError";
  readonly code = "busy";
}

/** The browser gives no private file system here: an old browser, private mode, or no HTTPS. */
export class UnavailableError extends TerraneError {
  override readonly name = "UnavailableError";
  readonly code = "unavailable";
}

/** The origin's storage quota, the disk, or memory is full. */
export class QuotaError extends TerraneError {
  override readonly name = "QuotaError";
  readonly code = "quota";
}

/** Stored bytes are not what was written. */
export class CorruptError extends TerraneError {
  override readonly name = "CorruptError";
  readonly code = "corrupt";
  /** The damaged file. */
  readonly file: string | undefined;
  /** Where in the file, in bytes. */
  readonly offset: number | undefined;

  constructor(message: string, options: ErrorOptions & { file?: string; offset?: number } = {}) {
    super(message, options);
    this.file = options.file;
    this.offset = options.offset;
  }
}

/** The store, the keyspace, the snapshot or the iteration was closed before. */
export class ClosedError extends TerraneError {
  override readonly name = "ClosedError";
  readonly code = "closed";
}

/** A signal ended the wait. What was requested by then may still take effect. */
export class AbortError extends TerraneError {
  override readonly name = "AbortError";
  readonly code = "aborted";
}

/** An argument is outside its limits. Nothing of the call took effect. */
export class InvalidArgumentError extends TerraneError {
  override readonly name = "InvalidArgumentError";
  readonly code = "invalid-argument";
}

/** There is no store or keyspace of that name, and none was to be created. */
export class NotFoundError extends TerraneError {
  override readonly name = "NotFoundError";
  readonly code = "not-found";
}

/** A later release of this package wrote the store. */
export class NewerFormatError extends TerraneError {
  override readonly name = "NewerFormatError";
  readonly code = "newer-format";
}

/** The browser refused a file operation. */
export class IoError extends TerraneError {
  override readonly name = "IoError";
  readonly code = "io";
}

/** The engine itself stopped. What was acknowledged is safe; open the store again. */
export class EngineError extends TerraneError {
  override readonly name = "EngineError";
  readonly code = "engine";
}

/** The codes of all errors. */
export type ErrorCode =
  | "busy"
  | "unavailable"
  | "quota"
  | "corrupt"
  | "closed"
  | "aborted"
  | "invalid-argument"
  | "not-found"
  | "newer-format"
  | "io"
  | "engine";

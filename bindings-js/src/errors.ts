/**
 * Every way in which a call can fail: a class, a stable `code`, and a sentence that says what was
 * expected and what was found.
 */

/** The base of every error that this package throws. */
export abstract class TerraneError extends Error {
  /** Names the kind of failure; stable across releases. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Another tab or worker holds the store; the sentence says which. */
export class BusyError extends TerraneError {
  readonly code = "BUSY";
}

/** The browser gives no private file system here: an old browser, private mode, or no HTTPS. */
export class UnavailableError extends TerraneError {
  readonly code = "UNAVAILABLE";
}

/** The origin's storage quota, or the disk, is full. */
export class QuotaError extends TerraneError {
  readonly code = "QUOTA";
}

/** Stored bytes are not what was written; the sentence names file and offset. */
export class CorruptError extends TerraneError {
  readonly code = "CORRUPT";
}

/** The store, or the iteration, was closed before. */
export class ClosedError extends TerraneError {
  readonly code = "CLOSED";
}

/** An argument is outside its limits. Nothing of the call took effect. */
export class InvalidArgumentError extends TerraneError {
  readonly code = "INVALID_ARGUMENT";
}

/** There is no store of that name, and none was to be created. */
export class NoStoreError extends TerraneError {
  readonly code = "NO_STORE";
}

/** A later release of this package wrote the store. */
export class NewerFormatError extends TerraneError {
  readonly code = "NEWER_FORMAT";
}

/** The browser refused a file operation. */
export class IoError extends TerraneError {
  readonly code = "IO";
}

/** The engine itself stopped. What was acknowledged is safe; open the store again. */
export class EngineError extends TerraneError {
  readonly code = "ENGINE";
}

/** The codes of all errors. */
export type ErrorCode =
  | BusyError["code"]
  | UnavailableError["code"]
  | QuotaError["code"]
  | CorruptError["code"]
  | ClosedError["code"]
  | InvalidArgumentError["code"]
  | NoStoreError["code"]
  | NewerFormatError["code"]
  | IoError["code"]
  | EngineError["code"];

/** An error as it travels from the worker: classes do not survive the journey. */
export interface WireError {
  code: ErrorCode;
  message: string;
  cause?: unknown;
}

const classes: Record<ErrorCode, new (message: string, options?: ErrorOptions) => TerraneError> = {
  BUSY: BusyError,
  UNAVAILABLE: UnavailableError,
  QUOTA: QuotaError,
  CORRUPT: CorruptError,
  CLOSED: ClosedError,
  INVALID_ARGUMENT: InvalidArgumentError,
  NO_STORE: NoStoreError,
  NEWER_FORMAT: NewerFormatError,
  IO: IoError,
  ENGINE: EngineError,
};

/** Makes the error of the right class from what travelled. */
export function fromWire({ code, message, cause }: WireError): TerraneError {
  return new classes[code](message, cause === undefined ? undefined : { cause });
}

/** What travels of an exception that the worker caught. */
export function toWire(thrown: unknown): WireError {
  if (isWire(thrown)) {
    const { code, message, cause } = thrown;
    return cause === undefined ? { code, message } : { code, message, cause };
  }
  if (thrown instanceof Error || thrown instanceof DOMException) {
    const { name, message } = thrown;
    return { code: codeOf(name), message: `${name}: ${message}`, cause: thrown };
  }
  return { code: "ENGINE", message: String(thrown) };
}

/** Whether something thrown says its code. */
export function isWire(value: unknown): value is WireError {
  return typeof value === "object" && value !== null && "code" in value && isCode(value.code);
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(classes, code);
}

function codeOf(exception: string): ErrorCode {
  switch (exception) {
    case "QuotaExceededError":
      return "QUOTA";
    case "NoModificationAllowedError":
      return "BUSY";
    case "NotFoundError":
      return "NO_STORE";
    case "SecurityError":
    case "NotAllowedError":
      return "UNAVAILABLE";
    case "RuntimeError":
    case "RangeError":
    case "TypeError":
      return "ENGINE";
    default:
      return "IO";
  }
}

/** Errors as they travel from the worker to the page, and what becomes of exceptions of others. */

import {
  AbortError,
  BusyError,
  ClosedError,
  CorruptError,
  EngineError,
  type ErrorCode,
  InvalidArgumentError,
  IoError,
  NewerFormatError,
  NotFoundError,
  QuotaError,
  TerraneError,
  UnavailableError,
} from "./errors.ts";

const classes = {
  busy: BusyError,
  unavailable: UnavailableError,
  quota: QuotaError,
  corrupt: CorruptError,
  closed: ClosedError,
  aborted: AbortError,
  "invalid-argument": InvalidArgumentError,
  "not-found": NotFoundError,
  "newer-format": NewerFormatError,
  io: IoError,
  engine: EngineError,
};

/** An error as it travels from the worker: classes do not survive the journey. */
export interface WireError {
  code: ErrorCode;
  message: string;
  cause?: unknown;
  /** Of damage. */
  file?: string;
  offset?: number;
}

/** Makes the error of the right class from what travelled. */
export function fromWire(wire: WireError): TerraneError {
  return new classes[wire.code](wire.message, wire);
}

/** What travels of an exception that was caught. */
export function toWire(thrown: unknown): WireError {
  if (isWire(thrown)) {
    const wire: WireError = { code: thrown.code, message: thrown.message };
    if (thrown.cause !== undefined) wire.cause = thrown.cause;
    if (thrown.file !== undefined) wire.file = thrown.file;
    if (thrown.offset !== undefined) wire.offset = thrown.offset;
    return wire;
  }
  if (thrown instanceof Error || thrown instanceof DOMException) {
    const { name, message } = thrown;
    return { code: codeOf(name), message: `${name}: ${message}`, cause: thrown };
  }
  return { code: "engine", message: String(thrown) };
}

/** The error of this package for an exception that was caught. */
export function toError(thrown: unknown): TerraneError {
  return thrown instanceof TerraneError ? thrown : fromWire(toWire(thrown));
}

/** What `body` promises; what it throws becomes an error of this package. */
export async function wrapErrors<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw toError(error);
  }
}

/** Whether something thrown says its code. */
export function isWire(value: unknown): value is WireError {
  if (typeof value !== "object" || value === null || !("code" in value)) return false;
  return typeof value.code === "string" && Object.hasOwn(classes, value.code);
}

function codeOf(exception: string): ErrorCode {
  switch (exception) {
    case "QuotaExceededError":
      return "quota";
    case "NoModificationAllowedError":
      return "busy";
    case "NotFoundError":
      return "not-found";
    case "SecurityError":
    case "NotAllowedError":
      return "unavailable";
    case "CompileError":
    case "LinkError":
    case "RuntimeError":
    case "RangeError":
    case "TypeError":
      return "engine";
    default:
      return "io";
  }
}

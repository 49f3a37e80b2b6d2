/** Errors as they are sent from the worker to the page, and conversion of foreign exceptions. */

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
} from "../api/errors.ts";
import { optionsInCamelCase } from "./json.ts";

/** A policy, or merges, which only the build of the engine with all policies has. */
export class LeftOutError extends InvalidArgumentError {
  readonly what: string;

  constructor(what: string, options: ErrorOptions = {}) {
    const where = 'open the store with policies: "all"';
    super(`only the build with all policies has ${what}: ${where}`, options);
    this.what = what;
  }
}

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
  "left-out": LeftOutError,
  io: IoError,
  engine: EngineError,
} satisfies Record<EncodedError["code"], unknown>;

/** An error as a message carries it: structured cloning does not preserve classes. */
export interface EncodedError {
  code: Exclude<ErrorCode, "conflict"> | "left-out";
  message: string;
  cause?: unknown;
  /** File of the damage, and the position in it. */
  file?: string;
  offset?: number;
}

/** Decodes an error as an instance of its class. */
export function decodeError(encoded: EncodedError): TerraneError {
  return new classes[encoded.code](optionsInCamelCase(encoded.message), encoded);
}

/** Encodes an exception that was caught. */
export function encodeError(thrown: unknown): EncodedError {
  if (isEncodedError(thrown)) {
    const encoded: EncodedError = { code: thrown.code, message: thrown.message };
    if (thrown.cause !== undefined) encoded.cause = thrown.cause;
    if (thrown.file !== undefined) encoded.file = thrown.file;
    if (thrown.offset !== undefined) encoded.offset = thrown.offset;
    return encoded;
  }
  if (thrown instanceof Error || thrown instanceof DOMException) {
    const { name, message } = thrown;
    return { code: codeOf(name), message: `${name}: ${message}`, cause: thrown };
  }
  return { code: "engine", message: String(thrown) };
}

/** Converts an exception that was caught into an error of this package. */
export function toError(thrown: unknown): TerraneError {
  return thrown instanceof TerraneError ? thrown : decodeError(encodeError(thrown));
}

/** Awaits `body`; whatever it throws becomes an error of this package. */
export async function wrapErrors<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw toError(error);
  }
}

/** Whether an exception carries one of this package's codes. */
export function isEncodedError(value: unknown): value is EncodedError {
  if (typeof value !== "object" || value === null || !("code" in value)) return false;
  return typeof value.code === "string" && Object.hasOwn(classes, value.code);
}

function codeOf(exception: string): EncodedError["code"] {
  switch (exception) {
    case "QuotaExceededError":
      return "quota";
    case "NoModificationAllowedError":
      return "busy";
    case "NotFoundError":
      return "not-found";
    case "SecurityError":
    case "NotAllowedError":
    case "NotSupportedError":
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

/** Exceptions that were caught, as errors of this package. */

import { TerraneError } from "../api/errors.ts";
import { decodeError, type EncodedError, isCode } from "./error-codec.ts";

/** Encodes an exception that was caught. */
export function encodeError(thrown: unknown): EncodedError {
  if (isEncodedError(thrown)) {
    const encoded: EncodedError = { code: thrown.code, message: thrown.message };
    if (thrown.cause !== undefined) encoded.cause = thrown.cause;
    if (thrown.file !== undefined) encoded.file = thrown.file;
    if (thrown.offset !== undefined) encoded.offset = thrown.offset;
    if (thrown.cursor !== undefined) encoded.cursor = thrown.cursor;
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
  return isCode(value.code);
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

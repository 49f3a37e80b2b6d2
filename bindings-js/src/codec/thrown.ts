/** Exceptions that were caught, as errors of this package. */

import { InvalidArgumentError, TerraneError } from "../api/errors.ts";
import { CLASSES, decodeError, type EncodedError } from "./error-codec.ts";

/** The code of the engine for what its build does not have. */
const LEFT_OUT = "left-out";

/** A policy, or merges, which only the build of the engine with all policies has. */
export class LeftOutError extends InvalidArgumentError {
  readonly what: string;

  constructor(what: string, options: ErrorOptions = {}) {
    const where = 'open the store with policies: "all"';
    super(`only the build with all policies has ${what}: ${where}`, options);
    this.what = what;
  }
}

/** An error of the engine, or one of this package. */
type Coded = Omit<EncodedError, "code"> & { code: EncodedError["code"] | typeof LEFT_OUT };

/** Encodes an exception that was caught. */
export function encodeError(thrown: unknown): EncodedError {
  if (isEncodedError(thrown)) {
    const code = thrown.code === LEFT_OUT ? "invalid-argument" : thrown.code;
    const encoded: EncodedError = { code, message: thrown.message };
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
  if (thrown instanceof TerraneError) return thrown;
  const encoded = encodeError(thrown);
  encoded.message = optionsInCamelCase(encoded.message);
  const isLeftOut = isEncodedError(thrown) && thrown.code === LEFT_OUT;
  return isLeftOut ? new LeftOutError(encoded.message, encoded) : decodeError(encoded);
}

/** A message of the engine, which has the names of options in backticks; they become camel case. */
function optionsInCamelCase(message: string): string {
  const camelCase = (name: string): string =>
    name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return message.replace(/`[^`]+`/g, camelCase);
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
export function isEncodedError(value: unknown): value is Coded {
  if (typeof value !== "object" || value === null || !("code" in value)) return false;
  const { code } = value;
  return code === LEFT_OUT || (typeof code === "string" && Object.hasOwn(CLASSES, code));
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

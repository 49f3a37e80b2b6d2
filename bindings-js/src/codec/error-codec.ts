/** Errors as they are sent from the worker to the page. */

import {
  AbortError,
  BusyError,
  ClosedError,
  CorruptError,
  CursorGoneError,
  EngineError,
  type ErrorCode,
  InvalidArgumentError,
  IoError,
  NewerFormatError,
  NotFoundError,
  QuotaError,
  ReadOnlyError,
  type TerraneError,
  UnavailableError,
} from "../api/errors.ts";

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
  "cursor-gone": CursorGoneError,
  closed: ClosedError,
  aborted: AbortError,
  "invalid-argument": InvalidArgumentError,
  "not-found": NotFoundError,
  "newer-format": NewerFormatError,
  "left-out": LeftOutError,
  io: IoError,
  "read-only": ReadOnlyError,
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
  /** The newest cursor of the change feed that refuses one. */
  cursor?: string;
}

/** Decodes an error as an instance of its class. */
export function decodeError(encoded: EncodedError): TerraneError {
  return new classes[encoded.code](optionsInCamelCase(encoded.message), encoded);
}

/** Whether a value is one of the codes. */
export function isCode(value: unknown): value is EncodedError["code"] {
  return typeof value === "string" && Object.hasOwn(classes, value);
}

/** A message of the engine, which has the names of options in backticks; they become camel case. */
function optionsInCamelCase(message: string): string {
  const camelCase = (name: string): string =>
    name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return message.replace(/`[^`]+`/g, camelCase);
}

/** Errors as they are sent from the worker to the page. */

import {
  AbortError,
  BusyError,
  ClosedError,
  CorruptError,
  CursorGoneError,
  EngineError,
  type ErrorCode,
  type ErrorDetails,
  InvalidArgumentError,
  IoError,
  NewerFormatError,
  NotFoundError,
  QuotaError,
  ReadOnlyError,
  type TerraneError,
  UnavailableError,
} from "../api/errors.ts";

/** The class of an error that a message can carry. */
type ErrorClass = new (message: string, details?: ErrorDetails) => TerraneError;

/** The classes of errors by their codes. */
export const CLASSES: Readonly<Record<EncodedError["code"], ErrorClass>> = {
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
  io: IoError,
  "read-only": ReadOnlyError,
  engine: EngineError,
};

/** An error as a message carries it: structured cloning does not preserve classes. */
export interface EncodedError {
  code: Exclude<ErrorCode, "conflict">;
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
  return new CLASSES[encoded.code](encoded.message, encoded);
}

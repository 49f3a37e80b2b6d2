/**
 * The WebAssembly module: loading it, calling it, and its traps. Whatever a call throws becomes an error
 * of this package. After a trap the state of the module's memory is unknown, but the files are
 * intact: they are released, and this worker does not open a store again.
 */

import { type InitOutput, initSync, on_panic } from "../../wasm/terrane.js";
import { EngineError } from "../api/errors.ts";
import { isEncodedError, toError } from "../codec/error-codec.ts";
import type { OpenRequest } from "../codec/protocol.ts";

/** The engine's panic message, before it trapped. */
let panic: string | undefined;
/** Why this worker cannot open a store any more. */
let trapped: EngineError | undefined;

/** The module's exports, and a view of its memory. */
let module: InitOutput;
let bytes: Uint8Array = new Uint8Array();

/** Resolves once the module has been instantiated. */
let started: Promise<void> | undefined;

/** Loads the module, once. */
export async function load(wasm: OpenRequest["wasm"]): Promise<void> {
  if (trapped !== undefined) throw trapped;
  started ??= start(wasm);
  try {
    await started;
  } catch (cause) {
    started = undefined;
    throw new EngineError(`the engine could not be loaded: ${cause}`, { cause });
  }
}

async function start(wasm: OpenRequest["wasm"]): Promise<void> {
  module = initSync({ module: wasm instanceof WebAssembly.Module ? wasm : await compile(wasm) });
  on_panic((message: string) => {
    panic = message;
  });
}

/** Fetches and compiles the module; bundlers look for exactly this expression. */
async function compile(
  url: string | URL = new URL("terrane_bg.wasm", import.meta.url),
): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText} at ${url}`);
  // A browser compiles while it downloads only if the server sends the right content type.
  const isNamed = response.headers.get("content-type") === "application/wasm";
  if (isNamed) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** A view of the module's memory, valid until the next call: growing the memory detaches views. */
export function memory(): Uint8Array {
  if (bytes.length === 0) bytes = new Uint8Array(module.memory.buffer);
  return bytes;
}

/** Runs `body`, which calls the module; whatever it throws becomes an error of this package. */
export function callModule<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (isEncodedError(error)) throw toError(error);
    const why = panic ?? String(error);
    trapped = new EngineError(`the engine crashed, open the store again in a new worker: ${why}`, {
      cause: error,
    });
    throw trapped;
  }
}

/** Frees an object of the module, unless the module has trapped: it is not called any more then. */
export function release(object: { free(): void } | undefined): void {
  if (trapped === undefined) object?.free();
}

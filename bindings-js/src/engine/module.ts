/**
 * The WebAssembly module: loading it, calling it, and its traps. There are three builds of it with one
 * interface: the lean one, one with all policies, and one that has threads. Whatever a call throws
 * becomes an error of this package. After a trap the state of the module's memory is unknown, but the files
 * are intact: they are released, and this worker does not open a store again with that build.
 */

import createGlue from "../../wasm/glue.js";
import { EngineError } from "../api/errors.ts";
import { isEncodedError, toError } from "../codec/thrown.ts";
import type { Build } from "../codec/protocol.ts";
import { notLoaded } from "../shared/not-loaded.ts";

/** Exports of the JavaScript beside a build. */
type Glue = ReturnType<typeof createGlue>;

/** Each build, once it was asked for. */
const loading: Partial<Record<Build, Promise<Module>>> = {};

/** A build of the module that has been instantiated. */
export class Module {
  /** Its exported classes and functions. */
  readonly glue: Glue;
  readonly #memory: WebAssembly.Memory;
  #bytes: Uint8Array = new Uint8Array();
  /** Message of an engine built for development before it trapped. */
  #panic: string | undefined;
  /** Reason why this build can open no more stores. */
  #trapped: EngineError | undefined;

  /** Instantiates a build, with its JavaScript. */
  constructor(glue: Glue, module: WebAssembly.Module) {
    this.glue = glue;
    this.#memory = glue.initSync({ module }).memory;
    this.glue.on_panic((message: string) => {
      this.#panic = message;
    });
  }

  /**
   * Loads a build, once; `wasm` is that build, or its URL, if it is not beside the worker's script. An
   * error says what it is `needed` for.
   */
  static async load(
    build: Build,
    wasm: string | WebAssembly.Module | undefined,
    needed: string | undefined,
  ): Promise<Module> {
    const source = wasm ?? urlOf(build);
    const module = (loading[build] ??= compile(source).then(
      (compiled) => new Module(createGlue(), compiled),
    ));
    let loaded: Module;
    try {
      loaded = await module;
    } catch (cause) {
      delete loading[build];
      const which = build === "all" ? `the engine with all policies, for ${needed},` : "the engine";
      const why = cause instanceof Error ? cause.message : String(cause);
      // A module of another release compiles, but does not fit.
      const at = why.includes(String(source)) ? "" : `, in ${source}`;
      throw notLoaded(which, `${why}${at}`, cause);
    }
    if (loaded.#trapped !== undefined) throw loaded.#trapped;
    return loaded;
  }

  /** A view of the memory, valid until the next call: growing the memory detaches views. */
  memory(): Uint8Array {
    // A view of shared memory is not detached, and stays too short.
    const isShared = !(this.#bytes.buffer instanceof ArrayBuffer);
    if (this.#bytes.length === 0 || isShared) this.#bytes = new Uint8Array(this.#memory.buffer);
    return this.#bytes;
  }

  /** Runs `body`, which calls the module; whatever it throws becomes an error of this package. */
  call<T>(body: () => T): T {
    try {
      return body();
    } catch (error) {
      if (isEncodedError(error)) throw toError(error);
      const why = this.#panic ?? String(error);
      this.#trapped = new EngineError(
        `the engine crashed, open the store again in a new worker: ${why}`,
        { cause: error },
      );
      throw this.#trapped;
    }
  }

  /** Frees an object of the module, unless the module has trapped: it is not called then. */
  release(object: { free(): void } | undefined): void {
    if (this.#trapped === undefined) object?.free();
  }
}

/** Returns the default address of a build; bundlers look for exactly these expressions. */
function urlOf(build: Build): URL {
  return build === "all"
    ? new URL("terrane_all_bg.wasm", import.meta.url)
    : new URL("terrane_bg.wasm", import.meta.url);
}

/** Loads and compiles a module, if it is not one. An error says what was found at its URL. */
export async function compile(
  source: string | URL | WebAssembly.Module,
): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  let found = "nothing";
  let why = "";
  try {
    const bytes = await readLocal(String(source));
    if (bytes !== undefined) {
      found = `${bytes.length} bytes`;
      return await WebAssembly.compile(bytes);
    }
    const response = await fetch(source);
    const { headers, ok, status, statusText } = response;
    found = ok ? (headers.get("content-type") ?? "no content type") : `${status} ${statusText}`;
    // A browser compiles while it downloads only if the server sends the right content type.
    if (found === "application/wasm") return await WebAssembly.compileStreaming(response);
    if (ok) return await WebAssembly.compile(await response.arrayBuffer());
  } catch (cause) {
    why = `: ${cause}`;
  }
  throw new Error(`expected a WebAssembly module at ${source}, found ${found}${why}`);
}

/** Reads files in Node.js, whose `fetch` does not. */
interface NodeFiles {
  readFile(url: URL): Promise<Uint8Array<ArrayBuffer>>;
}

/** Reads a file of this machine; undefined for other URLs, and outside of Node.js. */
async function readLocal(url: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  // Not by an import, which bundlers for browsers would follow.
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => NodeFiles };
  };
  if (!url.startsWith("file:")) return undefined;
  return process?.getBuiltinModule?.("node:fs/promises").readFile(new URL(url));
}

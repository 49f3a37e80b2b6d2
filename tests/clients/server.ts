/** A `terrane serve` on free ports. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, inject } from "vitest";

/** A folder for a store and the files of its server. */
export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "terrane-clients-"));

  file(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** A running server. */
export class Server implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #messages: Messages;

  /** Address for HTTP. */
  readonly http: URL;
  /** Address for Redis's protocol. */
  readonly resp: URL;

  private constructor(process: ChildProcess, messages: Messages, http: string, resp: string) {
    this.#process = process;
    this.#messages = messages;
    this.http = new URL(http);
    this.resp = new URL(resp);
  }

  /** Starts a server of the store in a folder. */
  static async on(folder: Folder, ...options: readonly string[]): Promise<Server> {
    const ports = ["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"];
    const args = ["serve", folder.file("db"), ...ports, ...options];
    const process = spawn(inject("program"), args, { stdio: ["ignore", "ignore", "pipe"] });
    const messages = new Messages(process.stderr);
    const [, http = ""] = await messages.next(/serving (http\S+)/);
    const [, resp = ""] = await messages.next(/serving (redis\S+)/);
    return new Server(process, messages, http, resp);
  }

  /** The port for Redis's protocol. */
  get port(): number {
    return Number(this.resp.port);
  }

  /** Makes the server read its files again. Returns its message of success or failure. */
  async reload(): Promise<string> {
    this.#process.kill("SIGHUP");
    const [message] = await this.#messages.next(/read the files again|kept what was read.*/);
    return message;
  }

  /** Drains the server, and returns its exit code. */
  async stop(): Promise<number | null> {
    return await this.#end("SIGTERM");
  }

  /** Kills the server, as a crash would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return exitCode;
    const exit = once(this.#process, "exit");
    this.#process.kill(signal);
    const [code] = (await exit) as [number | null];
    return code;
  }
}

/** Serves one store to all tests of a file. The result returns the server while tests run. */
export function serveAll(options: (folder: Folder) => readonly string[] = () => []): () => Server {
  const folder = new Folder();
  let server: Server | undefined;
  beforeAll(async () => {
    server = await Server.on(folder, ...options(folder));
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  return () => {
    if (server === undefined) throw new Error("the server did not start");
    return server;
  };
}

/** The lines that a process writes. All of them are read: a full pipe would block the process. */
class Messages {
  readonly #lines: string[] = [];
  #ended = false;
  #wake = (): void => {};

  constructor(stream: Readable) {
    const lines = createInterface(stream);
    lines.on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
    lines.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** Waits for a line that matches, and drops those before it. */
  async next(pattern: RegExp): Promise<RegExpExecArray> {
    const dropped: string[] = [];
    for (;;) {
      const line = this.#lines.shift();
      const found = line === undefined ? null : pattern.exec(line);
      if (found !== null) return found;
      if (line !== undefined) dropped.push(line);
      else if (this.#ended) throw new Error(`no ${pattern} in:\n${dropped.join("\n")}`);
      else await new Promise<void>((wake) => (this.#wake = wake));
    }
  }
}

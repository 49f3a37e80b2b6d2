/**
 * Debian's WebKit, driven by WebDriver, since Playwright drives only builds of its own.
 *
 * 1. Xvfb starts a virtual display.
 * 2. `WebKitWebDriver` starts on that display, and a session starts MiniBrowser.
 * 3. Pages collect their own errors, with a script that is sent before them, since a driven browser prints no console.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { patient } from "./patience.ts";

const DRIVER = process.env["TERRANE_WEBKIT"] ?? "/usr/bin/WebKitWebDriver";
/** The folder in which MiniBrowser lies, below those of an architecture and a version. */
const LIBRARIES = "/usr/lib";
/** Longest wait for the browser, in milliseconds. */
const LIMIT = patient(180_000);

/**
 * Script at the start of each page that collects the page's errors and those that it writes to the console. A loop of a
 * `ResizeObserver` is no error: an element changed its size again within a frame, and the next frame reports that size.
 */
export const COLLECTING = `<!doctype html><script>
  const collected = (window.collected = []);
  const collect = (...errors) => {
    const error = errors.join(" ");
    if (!error.startsWith("ResizeObserver loop")) collected.push(error);
  };
  const ofElement = ({ message, target }) => message ?? target.outerHTML;
  addEventListener("error", (event) => collect(ofElement(event)), true);
  addEventListener("unhandledrejection", ({ reason }) => collect(reason));
  console.error = collect;
</script>`;

/** Values that JSON can hold. */
type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export class WebKit {
  readonly #session: string;
  readonly #stop: () => void;

  private constructor(session: string, stop: () => void) {
    this.#session = session;
    this.#stop = stop;
  }

  /** Starts the browser; `features` are switches of WebKit, such as `+StorageAPI`. */
  static async start(...features: string[]): Promise<WebKit> {
    const started: ChildProcess[] = [];
    const stop = () => started.forEach((child) => child.kill());
    try {
      const display = spawn("Xvfb", ["-displayfd", "3", "-screen", "0", "1440x900x24"], {
        stdio: ["ignore", "ignore", "ignore", "pipe"],
      });
      started.push(display);
      const number = await firstLine(display, display.stdio[3] as Readable);
      const port = await freePort();
      const driver = spawn(DRIVER, [`--port=${port}`], {
        env: { ...process.env, DISPLAY: `:${number}`, GDK_BACKEND: "x11", NO_AT_BRIDGE: "1" },
        stdio: ["ignore", "inherit", "inherit"],
      });
      started.push(driver);
      const address = `http://127.0.0.1:${port}`;
      await answering(address, driver);
      const session = await call("POST", `${address}/session`, capabilities(features));
      const { sessionId } = session as { sessionId: string };
      return new WebKit(`${address}/session/${sessionId}`, stop);
    } catch (error) {
      stop();
      throw error;
    }
  }

  async goto(url: string): Promise<void> {
    await this.#post("url", { url });
  }

  /** Calls a function in the page, and returns its result, which must be JSON. */
  async evaluate<A extends Json[], R>(body: (...args: A) => R, ...args: A): Promise<Awaited<R>> {
    const script = `
      const [args, done] = arguments;
      const call = async () => (${body})(...args);
      const failed = (error) => done({ failed: error + "\\n" + error?.stack });
      call().then((value) => done({ value }), failed);`;
    const result = await this.#post("execute/async", { script, args: [args] });
    const { failed, value } = result as { failed?: string; value: Awaited<R> };
    if (failed !== undefined) throw new Error(failed);
    return value;
  }

  /** Returns the errors of a page that was served with `COLLECTING`. */
  errors(): Promise<string[]> {
    return this.evaluate(() => (window as unknown as { collected: string[] }).collected);
  }

  /** Waits until a function returns true in the page. */
  async until<A extends Json[]>(body: (...args: A) => boolean, ...args: A): Promise<void> {
    for (const end = Date.now() + LIMIT; Date.now() < end; await sleep(100)) {
      if (await this.evaluate(body, ...args)) return;
    }
    const shown = await this.evaluate(() => document.body.innerText);
    throw new Error(`never true in WebKit: ${body}, in a page that shows\n${shown}`);
  }

  async close(): Promise<void> {
    try {
      await call("DELETE", this.#session);
    } finally {
      this.#stop();
    }
  }

  #post(path: string, body: object): Promise<unknown> {
    return call("POST", `${this.#session}/${path}`, body);
  }
}

function capabilities(features: string[]): object {
  const args = ["--automation"];
  if (features.length > 0) args.push(`--features=${features.join(",")}`);
  const timeouts = { script: LIMIT, pageLoad: LIMIT };
  const browser = { "webkitgtk:browserOptions": { binary: miniBrowser(), args } };
  return { capabilities: { alwaysMatch: { timeouts, ...browser } } };
}

/** Returns the path of MiniBrowser, which Debian installs outside of `PATH`. */
function miniBrowser(): string {
  for (const architecture of readdirSync(LIBRARIES)) {
    for (const version of ["webkit2gtk-4.1", "webkit2gtk-4.0", "webkitgtk-6.0"]) {
      const path = join(LIBRARIES, architecture, version, "MiniBrowser");
      if (existsSync(path)) return path;
    }
  }
  throw new Error(`there is no MiniBrowser in ${LIBRARIES}`);
}

async function call(method: string, url: string, body?: object): Promise<unknown> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(url, { method, ...sent });
  const { value } = (await response.json()) as { value: { error?: string; message?: string } };
  if (!response.ok) throw new Error(`WebDriver: ${value.error}: ${value.message}`);
  return value;
}

function firstLine(child: ChildProcess, stream: Readable): Promise<string> {
  return new Promise((found, failed) => {
    child.once("error", failed);
    child.once("exit", (code) => failed(new Error(`${child.spawnfile} ended with ${code}`)));
    createInterface(stream).once("line", found);
  });
}

async function answering(address: string, driver: ChildProcess): Promise<void> {
  let failure: unknown;
  driver.once("error", (error) => (failure = error));
  driver.once("exit", (code) => (failure ??= new Error(`${DRIVER} ended with ${code}`)));
  for (const end = Date.now() + LIMIT; Date.now() < end; await sleep(50)) {
    if (failure !== undefined) throw failure;
    const ready = await call("GET", `${address}/status`).catch(() => undefined);
    if (ready !== undefined) return;
  }
  throw new Error(`${DRIVER} does not answer`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

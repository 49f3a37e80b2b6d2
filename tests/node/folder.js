/** Folders and processes for the tests of `terrane-node`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

/** The address of a bundle of the package. */
export const bundle = (name) =>
  new URL(`../../bindings-js/node/dist/${name}`, import.meta.url).href;

/** Returns a folder that is removed when the process ends, after its stores were closed. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "terrane-node-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Starts Node with a module as text; `lines` yields what it prints. */
export function start(source, ...args) {
  const flags = ["--input-type=module", "--eval", source, ...args];
  const child = spawn(process.execPath, flags, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.setEncoding("utf8");
  const ended = once(child, "close");
  return { child, ended };
}

/** Runs Node to its end; returns what it printed, or throws. */
export async function run(source, ...args) {
  const { child, ended } = start(source, ...args);
  let printed = "";
  child.stdout.on("data", (text) => (printed += text));
  const [code] = await ended;
  if (code !== 0) throw new Error(`expected the exit code 0, found ${code}, after: ${printed}`);
  return printed.trim();
}

/** Starts a thread with a module as text, which may use `open` of the package, `path` and `parentPort`. */
export function startThread(path, source) {
  const head = `import { open } from ${JSON.stringify(bundle("sync.js"))};
import { parentPort } from "node:worker_threads";
const path = ${JSON.stringify(path)};
`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(head + source)}`);
  return new Worker(url);
}

/** The command line, which reads and writes the same stores as a page. */

import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { TERRANE } = process.env;
const program = TERRANE ?? join(root, "target/debug/terrane");

/** Builds it, unless `cargo xtask` did and says where. */
export function buildNative(): void {
  if (TERRANE !== undefined) return;
  execFileSync("cargo", ["build", "--quiet", "-p", "terrane-cli"], { cwd: root });
}

/** Runs it and returns its output. */
export function terrane(...args: string[]): string {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs it with its output in a file. */
export function terraneTo(path: string, ...args: string[]): void {
  const file = openSync(path, "w");
  execFileSync(program, args, { stdio: ["ignore", file, "pipe"] });
  closeSync(file);
}

/** Starts it, and leaves it running. */
export function terraneRunning(...args: string[]): ChildProcessWithoutNullStreams {
  return spawn(program, args);
}

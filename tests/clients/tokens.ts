/** Files of tokens. */

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { Folder } from "./server.ts";

/** Writes the file of a server's tokens, and returns the options that name it. */
export function writeTokens(folder: Folder, ...lines: readonly string[]): readonly string[] {
  const file = folder.file("tokens");
  writeFileSync(file, lines.join(""));
  return ["--tokens", file];
}

/** Returns a line of the file: the bearer of `secret` has `role` on a keyspace's keys that start with `start`. */
export function token(
  name: string,
  secret: string,
  role: "read" | "write" | "admin",
  keyspace = "*",
  start = "",
): string {
  const digest = createHash("sha256").update(secret).digest("hex");
  return `${name} ${digest} ${role} ${keyspace} ${start}`.trimEnd() + "\n";
}

/** The program that the tests run: the one that `TERRANE` names, or else one that is built first. */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

const root = fileURLToPath(new URL("../..", import.meta.url));

declare module "vitest" {
  interface ProvidedContext {
    program: string;
  }
}

export default function build({ provide }: TestProject): void {
  const { TERRANE } = process.env;
  if (TERRANE === undefined)
    execFileSync("cargo", ["build", "--quiet", "-p", "terrane-cli"], { cwd: root });
  provide("program", TERRANE ?? `${root}target/debug/terrane`);
}

/** The packed package, and the projects of tests/packages that install it. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const bindings = fileURLToPath(new URL("../../bindings-js", import.meta.url));
export const projects: string = fileURLToPath(new URL("../packages", import.meta.url));

let packed: string | undefined;

/** The tarball, which lasts as long as this process. */
export function tarball(): string {
  if (packed === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "terrane-pack-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const name = npm(bindings, "pack", "--silent", "--pack-destination", folder).trim();
    packed = join(folder, name);
  }
  return packed;
}

/** The folder of a project in which the tarball is installed. */
export function install(project: string): string {
  const folder = join(projects, project);
  npm(folder, "install", "--no-save", tarball());
  return folder;
}

export function npm(folder: string, ...args: string[]): string {
  return run(folder, "npm", ...args);
}

/** Runs a program to its end and returns its output. */
export function run(folder: string, program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${status}\n${stdout}${stderr}`);
  return stdout;
}

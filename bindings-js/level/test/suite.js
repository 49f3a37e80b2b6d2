/** The suite that abstract-level publishes, on a directory, a file or in memory: the first argument says which. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import suite from "abstract-level/test/index.js";
import test from "tape";
import { TerraneLevel } from "terrane-level";

const OPTIONS = { directory: {}, file: { layout: "file" }, memory: { memory: true } };

const where = process.argv[2] ?? "directory";
const folder = mkdtempSync(join(tmpdir(), "terrane-level-"));
let databases = 0;

process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
suite({
  test,
  factory: (options) =>
    new TerraneLevel(join(folder, String(databases++)), { ...OPTIONS[where], ...options }),
});

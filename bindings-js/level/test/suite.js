/** The suite that abstract-level publishes, on a directory, a file or in memory: the first argument says which. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import suite from "abstract-level/test/index.js";
import test from "tape";
import { TerraneLevel } from "terrane-level";

const where = process.argv[2] ?? "directory";
const folder = mkdtempSync(join(tmpdir(), "terrane-level-"));
let databases = 0;

/** A database in one file, without an option that the suite did not give. */
class InOneFile extends TerraneLevel {
  _open(options) {
    return super._open({ ...options, layout: "file" });
  }
}

const FACTORIES = {
  directory: (location, options) => new TerraneLevel(location, options),
  file: (location, options) => new InOneFile(location, options),
  memory: (location, options) => new TerraneLevel(location, { ...options, memory: true }),
};

process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
suite({
  test,
  factory: (options) => FACTORIES[where](join(folder, String(databases++)), options),
});

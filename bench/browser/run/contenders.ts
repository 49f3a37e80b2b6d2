/** Contenders, and their settings. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const DEFAULT_DURABILITY = "the browser's default durability, which is relaxed";
const LINE = "from the page behind a thin message layer";
const SQLITE =
  `${LINE}; locking_mode EXCLUSIVE, WAL, synchronous NORMAL, ` +
  "WITHOUT ROWID with a BLOB key, prepared statements, 16 MiB of cache";

/** All of them; the first is the one that the others are compared with. */
export const CONTENDERS: Record<string, string> = {
  terrane:
    `${version("terrane")}, from the page its client, inside a worker terrane/worker; ` +
    'durability "buffered", binary keys and values, 16 MiB of cache',
  indexeddb: 'durability "relaxed", explicit commit, out-of-line binary keys',
  "idb-keyval": `${version("idb-keyval")}, ${DEFAULT_DURABILITY}; it has no range to read`,
  "browser-level": `${version("browser-level")}, ${DEFAULT_DURABILITY}; encoding "view"`,
  dexie: `${version("dexie")}, durability "relaxed", objects with a binary key`,
  sqlite: `${version("@sqlite.org/sqlite-wasm")}, opfs-sahpool, ${SQLITE}`,
  "wa-sqlite": `${version("@journeyapps/wa-sqlite")}, AccessHandlePoolVFS, ${SQLITE}`,
  regolith:
    `${locked("regolith")}, its profile for browsers on its pool of access handles, ${LINE}; ` +
    "durability Eventual, 4 MiB of memtable, 16 MiB of cache",
  "trine-kv":
    `${locked("trine-kv")}, on OPFS, ${LINE}; durability Buffered, 4 MiB of memtable, ` +
    "tables in memory, maintenance when a write is refused",
};

/** Those that are compared unless others are asked for. */
export const USUAL = "terrane,indexeddb,sqlite";

/** The names in a list, or all; in the order of the report. */
export function named(list: string): string[] {
  const all = Object.keys(CONTENDERS);
  const asked = list === "all" ? all : list.split(",");
  const unknown = asked.filter((name) => !all.includes(name));
  if (unknown.length > 0) {
    throw new Error(`--contenders: expected all or some of ${all}, found ${unknown}`);
  }
  return all.filter((name) => asked.includes(name));
}

/** The version of a crate in the lock file of the Rust stores. */
function locked(name: string): string {
  const lock = readFileSync(join(ROOT, "rust/Cargo.lock"), "utf8");
  return lock.match(`name = "${name}"\nversion = "(.+)"`)?.[1] ?? "unknown";
}

/** The version of a package, as its own manifest says. */
function version(name: string): string {
  const manifest = join(ROOT, "node_modules", name, "package.json");
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

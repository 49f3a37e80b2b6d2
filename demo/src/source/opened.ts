/**
 * The files that a visitor opens: an exported store, a trace or a MANIFEST of another engine, which are shown as they
 * are, or rows, which are written to a store.
 */

import { bytes } from "../format.ts";
import { columnsOf, guessFormat, NUMBER, readerOf, usualColumns } from "./parse.ts";
import { isTraceLine } from "./event-log.ts";
import { startsAsManifest, tooLargeManifest } from "./manifest.ts";
import type { Write } from "./operations.ts";
import { isLive, RANGES, type Settings } from "./settings.ts";
import { firstLine, readTrace } from "./trace.ts";

/** Content of a file. */
export type Opened =
  | { type: "store"; name: string; file: File }
  | { type: "trace"; name: string; file: File }
  | { type: "manifest"; name: string; file: File }
  | { type: "rows"; name: string; rows: Write[] };

/** Source that is shown instead of a workload: a file, or a process. */
export interface ShownFile {
  name: string;
  problem: string | undefined;
  /** Whether it is a store: the visitor's own, or a copy of an exported one. */
  store?: "own" | "copy";
  /** Whether it was recorded elsewhere, so that only its header describes it. */
  elsewhere?: boolean;
  /** Column families of another engine's store, where there are several: which is shown, and a way to show another. */
  families?: { shown: string; all: readonly string[]; show: (family: string) => Promise<void> };
}

/** The most bytes of a file of text: the page holds what it says. */
const BYTES_MAX = 512 << 20;

/** Start of a volume's superblocks, and their places: either may be damaged. */
const MAGIC = "TRNVOL\r\n";
const SUPERBLOCKS = [0, 16_384];

/** The usual extension of exported stores, by which even one without a sound superblock is recognized. */
const EXTENSION = ".terrane";

/** Whether a file is an exported store. */
async function isStore(file: File): Promise<boolean> {
  if (file.name.endsWith(EXTENSION)) return true;
  const starts = SUPERBLOCKS.map((at) => file.slice(at, at + MAGIC.length).text());
  return (await Promise.all(starts)).includes(MAGIC);
}

/**
 * Recognizes a file: a trace has an event on each line, others that are no stores have rows as a store of the
 * visitor's loads them, which are read here.
 */
export async function openFile(file: File): Promise<Opened> {
  if (await isStore(file)) return { type: "store", name: file.name, file };
  const { name } = file;
  if (await startsAsManifest(file)) {
    const large = tooLargeManifest(file);
    if (large !== undefined) throw new Error(large);
    return { type: "manifest", name, file };
  }
  if (file.size > BYTES_MAX) {
    throw new Error(`${name} has ${bytes(file.size)}; a page holds at most ${bytes(BYTES_MAX)}.`);
  }
  if (isTraceLine(await firstLine(file))) {
    const { value } = await readTrace(file).next();
    if (value?.events.length === 0) throw new Error(`${name} cannot be shown. ${value.problem}`);
    return { type: "trace", name, file };
  }
  const format = guessFormat(name);
  const reader = readerOf(format);
  const records = [...reader.push(await file.text()), ...reader.end()];
  const columns = usualColumns(columnsOf(format, records.slice(0, 100)));
  const encoder = new TextEncoder();
  const rows = records.flatMap((fields, i): Write[] => {
    const key = fields[columns.key];
    if (key === undefined || key === "") return [];
    const value = columns.value === NUMBER ? undefined : fields[columns.value];
    return [{ type: "put", key, value: encoder.encode(value ?? String(i + 1)) }];
  });
  if (rows.length === 0)
    throw new Error(`${name} is not an exported store, and has neither events nor rows with keys.`);
  return { type: "rows", name, rows };
}

/** The settings of a recording that writes these rows. */
export function settingsOfRows(rows: readonly Write[], settings: Settings): Settings {
  const sizes = rows.map((row) => (row.type === "put" ? row.value.length : 0));
  const mean = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / sizes.length);
  const { least, most } = RANGES.valueBytes;
  return {
    ...settings,
    load: 0,
    operations: rows.length,
    device: isLive(settings) ? settings.device : "memory",
    valueBytes: Math.min(Math.max(mean, least), most),
  };
}

/**
 * A MANIFEST of a store of RocksDB, Pebble or LevelDB among the files that a visitor opens. These engines log every
 * change of their trees in it. A module reads it (`manifest-reader.ts`), in the worker that reads traces, and refuses
 * files that only start as one does.
 */

import { bytes } from "../format.ts";

/** A MANIFEST, and what is chosen of it. */
export interface ForeignSource {
  module: WebAssembly.Module;
  /** Text of the OPTIONS file beside it; empty without one. */
  options: string;
  /** Name of a column family; undefined for the first whose tree has changed. */
  family: string | undefined;
}

/** Facts of a history besides its events. */
export interface ForeignFacts {
  engine: string;
  family: string;
  /** Names of the column families whose trees have changed. */
  families: string[];
  comparator: string | null;
  problem: string | null;
}

/** The most bytes of a MANIFEST: its edits and their events are in memory together. */
export const MANIFEST_MAX = 64 << 20;

/** Bytes of a header of a record: its checksum, its length and its type; and the bytes of a block. */
const [HEADER, BLOCK] = [7, 32 << 10];
/** Types of a record, or of its first part, of a new log and of a recycled one. */
const TYPES: readonly number[] = [1, 2, 5, 6];

/** Whether a file starts as a MANIFEST does. Text never has such a type in its place. */
export async function startsAsManifest(file: Blob): Promise<boolean> {
  const header = new Uint8Array(await file.slice(0, HEADER).arrayBuffer());
  const [, , , , low = 0, high = 0, type = 0] = header;
  const length = low + 256 * high;
  return header.length === HEADER && length <= BLOCK - HEADER && TYPES.includes(type);
}

/** Returns the file to show, and the newest OPTIONS file among those that were opened with it. */
export function optionsAmong(files: readonly File[]): { file: File; options: File | undefined } {
  const numberOf = ({ name }: File) => /^OPTIONS-(\d+)$/.exec(name)?.[1];
  const isOptions = (file: File) => numberOf(file) !== undefined;
  const [options] = files
    .filter(isOptions)
    .toSorted((a, b) => Number(numberOf(b)) - Number(numberOf(a)));
  const others = files.length > 1 ? files.filter((file) => !isOptions(file)) : files;
  const [file, second] = others;
  if (file === undefined || second !== undefined) {
    throw new Error("One file is shown at a time, or a MANIFEST with the OPTIONS file beside it.");
  }
  return { file, options: files.length > 1 ? options : undefined };
}

/** Returns the reason why a MANIFEST is not read in a page, if it is too large. */
export function tooLargeManifest({ name, size }: File): string | undefined {
  if (size <= MANIFEST_MAX) return undefined;
  const most = `a page reads a MANIFEST of at most ${bytes(MANIFEST_MAX)}`;
  return `${name} has ${bytes(size)}; ${most}. Write its trace with \`terrane history ${name}\`, and open that.`;
}

/** Traces of reads. */

/**
 * One step of a read. `memtable` and `run` say which source is searched next; the steps that follow say
 * what was found there.
 */
export type Step =
  /** 0 is the active memtable; the immutable ones follow. */
  | { step: "memtable"; place: number }
  /** A run and, for a get, its one table whose key range covers the key. */
  | { step: "run"; level: number; run: number; table: number | null }
  | { step: "filter"; mayContain: boolean }
  /** A block of the table; `read` is the number of bytes read from storage for it. */
  | {
      step: "block";
      offset: number;
      bytes: number;
      origin: "cache" | "read-ahead" | "vfs";
      read: number;
    }
  | { step: "value"; sequence: number; bytes: number }
  | { step: "tombstone"; sequence: number }
  /** The source has only versions that are too new for the reader. */
  | { step: "newer" }
  /** The source does not have the key; `falsePositive` if a filter said that it might. */
  | { step: "absent"; falsePositive: boolean }
  /** The iteration enters this table of the run. */
  | { step: "table"; table: number }
  /** The source's cursor is at this key, or null at its end. */
  | { step: "stands"; key: Uint8Array | null }
  /** The first entry of the iteration. */
  | { step: "row"; key: Uint8Array; bytes: number };

/** Table accesses of reads. */
export interface ReadCounts {
  /** Gets that no memtable could serve, or seeks of iterations. */
  operations: number;
  /** Entries that iterations yielded. */
  rows: number;
  /** Table reads that a filter avoided. */
  filterNegatives: number;
  /** Filters that passed a key that their table does not have. */
  filterFalsePositives: number;
  blocks: number;
  /** Blocks found in the cache. */
  blocksCached: number;
  /** Bytes read from storage. */
  bytesRead: number;
}

/** The steps of a get, or of an iteration's seek to its first entry. */
export interface Trace {
  /** The sequence number of the last write that is visible to the reader. */
  sequence: number;
  steps: Step[];
  counts: ReadCounts;
}

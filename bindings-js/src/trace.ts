/** Reads, as they go. */

/** One step of a read. `memtable` and `run` begin a place; the steps after say what was there. */
export type Step =
  /** 0 is the memtable that is written; then come those that wait for their flush. */
  | { step: "memtable"; place: number }
  /** A run and, for a get, the one table of it whose keys may hold the key. */
  | { step: "run"; level: number; run: number; table: number | null }
  | { step: "filter"; mayContain: boolean }
  /** A block of the table; `read` is how many bytes were read from storage for it. */
  | {
      step: "block";
      offset: number;
      bytes: number;
      origin: "cache" | "read-ahead" | "medium";
      read: number;
    }
  | { step: "value"; sequence: number; bytes: number }
  | { step: "tombstone"; sequence: number }
  /** The place has only versions newer than the reader may see. */
  | { step: "newer" }
  /** The place has not the key, whether or not a filter had let it pass. */
  | { step: "absent"; falsePositive: boolean }
  /** An iteration goes into this table of the run. */
  | { step: "table"; table: number }
  /** The place's part of an iteration stands on this key; null where it has none. */
  | { step: "stands"; key: Uint8Array | null }
  /** The first entry of an iteration. */
  | { step: "row"; key: Uint8Array; bytes: number };

/** What reads did with tables. */
export interface ReadCounts {
  /** Gets that no memtable could serve, or searches of iterations. */
  operations: number;
  /** Entries that iterations gave. */
  rows: number;
  /** Tables that a filter spared. */
  filterNegatives: number;
  /** Tables whose filter let a key pass that is not there. */
  filterFalsePositives: number;
  blocks: number;
  /** Those of them that the cache had. */
  blocksCached: number;
  /** Bytes read from storage. */
  bytesRead: number;
}

/** A get, or the search of an iteration for its first entry, as it went. */
export interface Trace {
  /** The number of the last write that the reader may see. */
  sequence: number;
  steps: Step[];
  counts: ReadCounts;
}

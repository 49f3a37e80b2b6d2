/** The events that a recording is made of. */

import type { Capacity, EngineEvent, Fact, Level, PolicyOptions } from "terrane";

/** First line of a trace, which describes the recording. */
export interface HeaderEvent {
  type: "header";
  micros: number;
  release: string;
  /** Name of the keyspace. */
  keyspace: string;
  /** Missing where it is not known, as of another engine's store. */
  policy?: PolicyOptions;
  /** The engine, if it is another. */
  engine?: string;
  /** The configuration, if it is a simulation. */
  simulation?: Simulated | null;
}

/** A simulation, as far as a header's sentence names it. Names are those of `terrane simulate --config`. */
export interface Simulated {
  seed: number;
  workers: number;
  bufferBytes: number;
  valueBytes: number;
  device: { readSpeed: number; writeSpeed: number };
  workload: {
    load: number;
    phases: readonly {
      operations: number;
      clients: readonly {
        mix: Readonly<Record<string, number>>;
        choice: { by: string };
        rate: number;
      }[];
    }[];
  };
}

/** Waits of writes since a store was opened, by reason. */
export type WaitsByReason = Readonly<
  Record<string, { count: number; micros: number; microsMax: number }>
>;

/** Waits of writes in a process, which events report only in part. */
export interface WaitsEvent {
  type: "waits";
  micros: number;
  waits: WaitsByReason;
}

/** End of the reports of a process. */
export interface DetachedEvent {
  type: "detached";
  micros: number;
}

/** A keyspace as a process has it to whose events this page is attached: they add to it. */
export interface ShapeEvent {
  type: "shape";
  micros: number;
  /** Release of the process, and the keyspace's name. */
  release?: string;
  name?: string;
  waits?: WaitsByReason;
  policy?: PolicyOptions;
  levels: readonly Level[];
  capacities: readonly Capacity[];
  facts: readonly Fact[];
}

/** The power failed, and the store was opened again: what it has then. */
export interface PowerFailedEvent {
  type: "power-failed";
  micros: number;
  /** Bytes that were written to files and not synced, and bytes of incomplete writes that recovery dropped. */
  unsyncedBytes: number;
  discardedBytes: number;
  /** Writes that had been accepted, and are gone; and the last batch that is not. */
  lostWrites: number;
  through: number;
  levels: readonly Level[];
  /** Memtables that the log brought back and that wait to be flushed. */
  sealed: number;
  capacities: readonly Capacity[];
  facts: readonly Fact[];
}

/** An event of a recording. */
export type RecordedEvent =
  EngineEvent | HeaderEvent | ShapeEvent | WaitsEvent | DetachedEvent | PowerFailedEvent;

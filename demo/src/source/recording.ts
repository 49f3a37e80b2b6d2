/** A recording: what was set, what has happened so far, and how far it has come. */

import type { Db, Keyspace } from "terrane";
import type { Timeline } from "../timeline/timeline.ts";
import { LiveRecording } from "./live.ts";
import type { Write } from "./operations.ts";
import type { Range, ReadPath, Wanted } from "./read-path.ts";
import { isLive, type Settings } from "./settings.ts";
import { SimulatedRecording } from "./simulation.ts";

/** The moment at which a policy takes over the tree that another has made. */
export interface Takeover {
  /** The recording up to there. */
  settings: Settings;
  /** Microseconds, and the bytes accepted by then. */
  at: number;
  accepted: number;
}

/** Progress of a recording; one whose end is unknown has no share. */
export type Status =
  | { at: "running"; share: number | undefined; preparing?: string }
  | { at: "ended" }
  | { at: "failed"; error: string };

/** A store that the visitor can write to by hand. Events show what comes of it. */
export interface WritableStore {
  put(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
  flush(): Promise<void>;
  compact(): Promise<void>;
}

/** A store that the visitor uses: one of their own, or a copy of an exported one. */
export interface OpenStore extends WritableStore {
  readonly db: Db;
  /** Time that opening it took, in milliseconds. */
  readonly openedIn: number;
  readonly keyspaces: readonly string[];
  /** The name of the keyspace that is shown and changed, and the keyspace. */
  readonly keyspace: string;
  readonly space: Keyspace;
  show(keyspace: string): Promise<void>;
  /** Seeks to the first entry of a range. */
  seek(range: Range): Promise<ReadPath | undefined>;
  /** The parameters that a policy has here at first. */
  parametersOf(policy: Settings["policy"]): Settings["parameters"];
  setPolicy(settings: Settings): Promise<void>;
}

/** A process elsewhere whose events are shown. */
export interface Attached {
  /** Address of the events. */
  readonly address: string;
  /** Name of the keyspace that is shown, and of all, if the process is a server. */
  readonly keyspace: string | undefined;
  readonly keyspaces: readonly string[];
  /** Address of the events of another keyspace. */
  addressOf(keyspace: string): string;
  /** Whether the stream of events has ended: it is connected to again after a while. */
  readonly lost: boolean;
  /** Connects at once. */
  reconnect(): void;
}

/** A recording that continues by itself until it is stopped. */
export interface Recording {
  readonly settings: Settings;
  readonly timeline: Timeline;
  readonly status: Status;
  /** Settles when it has ended, however it does. */
  readonly ended: Promise<void>;
  /** Settles when it holds nothing, which is once it is stopped. */
  readonly closed: Promise<void>;
  /** Whether it reads at any moment, not only at its end. */
  readonly readsBack: boolean;
  /** Time of what it shows by this page's clock, in microseconds, where that continues between events. */
  readonly now?: number;
  /** The visitor's store that it shows, while that is open. */
  readonly store?: OpenStore | undefined;
  /** The process that it shows. */
  readonly attached?: Attached;
  /** The store of its workload, while the visitor can write to it. */
  readonly writable?: WritableStore | undefined;
  /**
   * Fails the power, if there are files that can lose unsynced writes; resolves once the store is open again.
   */
  readonly crash?: (() => Promise<void>) | undefined;
  /** Reads a key as at a moment, in microseconds. */
  read(wanted: Wanted, micros: number): Promise<ReadPath>;
  /** Ends it, wherever it is. */
  stop(): void;
}

/** Further options of a recording. */
export interface Options {
  /** The number of a rival, which is not kept open when it has ended. */
  rival?: number;
  /** Rows of the visitor's, which are written. */
  rows?: readonly Write[] | undefined;
  /** Promise that a simulation waits for before it takes a processor. */
  begin?: Promise<void> | undefined;
  /** The tree of another policy that this one takes over; without it, it starts with nothing. */
  takeover?: Takeover | undefined;
}

/** Starts a recording; `changed` is called whenever there is more of it. */
export function start(
  settings: Settings,
  changed: () => void,
  after: Promise<void>,
  options: Options = {},
): Recording {
  // Two stores at work at once would measure each other.
  if (isLive(settings)) return new LiveRecording(settings, changed, after, options);
  return new SimulatedRecording(settings, changed, options);
}

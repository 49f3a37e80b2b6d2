/** Events: what the engine does, as it does it. */

import type { EngineEventBody } from "./contract.ts";

export type {
  Effect,
  EngineEventBody,
  LevelChange,
  LevelReads,
  Observed,
  OperationStats,
  Order,
  Quantity,
  Relation,
  StallReason,
  Term,
} from "./contract.ts";

/** Whose worker has a store: this page's, another page's, or none while it changes. */
export type Role = "leader" | "follower" | "none";

/** Something that the engine did. `keyspace` is a keyspace's name. */
export type Event =
  | EngineEvent
  /** A snapshot that was never released was garbage-collected, and released. */
  | { type: "snapshot-forgotten" }
  /** The store is with another page's worker now, with this page's, or with none. */
  | { type: "role-changed"; role: Role }
  /** The listener was too slow for this many events, which were dropped. */
  | { type: "dropped"; count: number };

/** An event, with its time. */
export type EngineEvent = EngineEventBody & {
  /** Microseconds since the store was opened; from 0 again after the page was resumed. */
  micros: number;
};

/** Checks of events from files and other processes, which may lack what their types declare. */

import type { RecordedEvent } from "../timeline/events.ts";

/** Whether a value is of a kind. */
type Check = (value: unknown) => boolean;

type Type = RecordedEvent["type"];

/** The event of a type, also where several types share a declaration. */
type EventOf<T extends Type, E = RecordedEvent> = E extends { type: infer D }
  ? T extends D
    ? E
    : never
  : never;

/** The fields of each type: the compiler reports one that is missing. */
type Fields = {
  [T in Type]: { [F in keyof Omit<EventOf<T>, "type" | "micros">]: Check };
};

/** The most levels that a tree may have; see crates/types/src/shape.rs. */
const LEVELS_MAX = 64;

const number: Check = (value) => Number.isFinite(value) && (value as number) >= 0;
const text: Check = (value) => typeof value === "string";
const flag: Check = (value) => typeof value === "boolean";
const bytes: Check = (value) => value instanceof Uint8Array;
const object: Check = (value) => typeof value === "object" && value !== null;
const depth: Check = (value) =>
  Number.isInteger(value) && number(value) && (value as number) < LEVELS_MAX;
const list =
  (of: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(of);
const either =
  (...checks: Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));
const is =
  (constant: unknown): Check =>
  (value) =>
    value === constant;
const fields =
  (checks: Record<string, Check>): Check =>
  (value) =>
    object(value) && wrong(value as object, checks) === undefined;

const keyspace = either(number, text);
const of = either(is("tree"), fields({ levels: list(depth) }), fields({ item: number }));
const quantity = fields({ name: text, of, value: number });
const terms = list(fields({ left: quantity, relation: text, right: quantity, unit: text }));
const fact = either(
  fields({ name: text, of, value: number, unit: text }),
  fields({ name: text, of, key: bytes }),
);
const bound = either(is(null), number);
const table = fields({
  id: number,
  bytes: number,
  entries: number,
  tombstones: number,
  smallest: bytes,
  largest: bytes,
  firstSeq: number,
  lastSeq: number,
  filterBits: number,
  filterBytes: number,
});
const tables = list(table);
const levels: Check = (value) =>
  list(fields({ runs: list(fields({ id: number, tables })) }))(value) &&
  (value as unknown[]).length <= LEVELS_MAX;
const policy: Check = (value) =>
  fields({ policy: text })(value) && Object.values(value as object).every((one) => !object(one));
const observed = fields({
  updates: number,
  pointReads: number,
  rangeReads: number,
  tableReads: object,
});
const status = { capacities: list(fields({ bytes: bound, runs: bound })), facts: list(fact) };
const reason = { reason: text, terms };
const stall = { reason: text };
const stallEnded = { ...stall, lastedMicros: number };
const group = { compaction: number, group: number };
const damage = fields({ file: text, offset: number, expected: text, found: text });
const place = { level: depth, run: number };

const EVENTS: Fields = {
  recovered: {
    records: number,
    batches: number,
    entries: number,
    discardedBytes: number,
    repaired: list(damage),
  },
  "keyspace-created": { keyspace },
  "keyspace-dropped": { keyspace },
  "policy-changed": { keyspace, policy },
  "policy-adjusted": { keyspace, policy, problems: list(text) },
  "memtable-sealed": { keyspace, bytes: number, through: number },
  flushed: { keyspace, run: number, tables, through: number, ...reason },
  "compaction-begun": {
    keyspace,
    compaction: number,
    groups: number,
    order: either(is("parallel"), is("sequential"), fields({ atMost: number })),
    observed,
    ...reason,
  },
  "level-changed": {
    keyspace,
    change: either(fields({ add: depth }), fields({ drop: depth })),
    observed,
    ...reason,
  },
  "group-begun": {
    keyspace,
    compaction: number,
    inputs: list(number),
    cuts: list(bytes),
    moved: flag,
    ...place,
  },
  "merge-progress": { readBytes: number, totalBytes: number, writtenBytes: number, ...group },
  "group-installed": {
    keyspace,
    compaction: number,
    inputs: list(number),
    outputs: tables,
    moved: flag,
    ...place,
  },
  "group-abandoned": group,
  "compaction-ended": { compaction: number },
  "plan-refused": { keyspace, why: text },
  "policy-state-refused": { keyspace, bytes: number },
  "policy-status": { keyspace, ...status },
  decided: { keyspace, decision: text, facts: list(fact), ...reason },
  stalled: stall,
  "stall-ended": stallEnded,
  "slowdown-begun": stall,
  "slowdown-ended": stallEnded,
  "job-failed": { error: text },
  "file-removed": { file: text },
  shape: { policy, levels, ...status },
  "power-failed": {
    unsyncedBytes: number,
    discardedBytes: number,
    lostWrites: number,
    through: number,
    levels,
    sealed: number,
    ...status,
  },
};

/** Whether a value has a type and a time, as events of this and later releases do. */
export function isEvent(value: unknown): value is RecordedEvent {
  return object(value) && wrong(value as object, { type: text, micros: number }) === undefined;
}

/** Returns the name of a field that an event lacks, or that is not as its type declares it. */
export function wrongField(event: RecordedEvent): string | undefined {
  // Types of later releases are not known here, and change nothing.
  return Object.hasOwn(EVENTS, event.type) ? wrong(event, EVENTS[event.type]) : undefined;
}

function wrong(value: object, checks: Record<string, Check>): string | undefined {
  const found = Object.entries(checks).find(
    ([name, check]) => !check((value as Record<string, unknown>)[name]),
  );
  return found?.[0];
}

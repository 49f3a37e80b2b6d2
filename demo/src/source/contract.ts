// Generated from the declarations in Rust; see crates/wasm/tests/contract/main.rs.

/** The most levels that a tree may have. */
export const MAX_LEVELS = 64;

/** The kind of a value. */
export type Kind =
  "number" | "level" | "text" | "flag" | "bytes" | "object" | "keyspace" | "policy";

/** The form that a value must have. */
export type Shape =
  | Kind
  | { is: string | null }
  | { either: readonly Shape[] }
  | { fields: Record<string, Shape> }
  | { list: Shape; atMost?: number };

const OF: Shape = {
  either: [
    { is: "tree" },
    { fields: { levels: { list: "level" } } },
    { fields: { item: "number" } },
  ],
};

const UNIT: Shape = "text";

const RELATION: Shape = "text";

const QUANTITY: Shape = { fields: { name: "text", of: OF, value: "number" } };

const EFFECT: Shape = {
  either: [
    { fields: { leaves: "level" } },
    { fields: { enters: "level" } },
    { fields: { passes: "level" } },
    { fields: { merges: "level" } },
    { fields: { stays: "level" } },
    { fields: { becomes: { list: "level" } } },
    { is: "due" },
    { is: "admitted" },
    { is: "taken" },
    { is: "cut" },
    { is: "split" },
    { is: "joined" },
    { is: "chosen" },
  ],
};

const TERM: Shape = {
  fields: {
    left: QUANTITY,
    relation: RELATION,
    right: QUANTITY,
    unit: UNIT,
    effect: { either: [{ is: null }, EFFECT] },
  },
};

const FACT: Shape = {
  either: [
    { fields: { name: "text", of: OF, value: "number", unit: UNIT } },
    { fields: { name: "text", of: OF, key: "bytes" } },
  ],
};

const CAPACITY: Shape = {
  fields: {
    bytes: { either: [{ is: null }, "number"] },
    runs: { either: [{ is: null }, "number"] },
  },
};

const OBSERVED: Shape = {
  fields: {
    updates: "number",
    pointReads: "number",
    rangeReads: "number",
    tableReads: "object",
    blockNanos: "number",
    pageNanos: "number",
  },
};

const TABLE: Shape = {
  fields: {
    id: "number",
    bytes: "number",
    entries: "number",
    tombstones: "number",
    smallest: "bytes",
    largest: "bytes",
    firstSeq: "number",
    lastSeq: "number",
    filterBits: "number",
    filterBytes: "number",
  },
};

const DAMAGE: Shape = {
  fields: { file: "text", offset: "number", expected: "text", found: "text" },
};

const ORDER: Shape = {
  either: [{ is: "parallel" }, { is: "sequential" }, { fields: { atMost: "number" } }],
};

const LEVEL_CHANGE: Shape = {
  either: [{ fields: { add: "level" } }, { fields: { drop: "level" } }],
};

/** The reasons for which writes stall, in the engine's order. */
export const STALL_REASONS = [
  "memtables",
  "memory",
  "level0",
  "wal",
  "compaction-bytes",
  "range-deletes",
] as const;

const STALL_REASON: Shape = "text";

const OPERATION_STATS: Shape = {
  fields: {
    count: "number",
    p50Micros: "number",
    p99Micros: "number",
    maxMicros: "number",
    quantiles: { list: "bytes" },
  },
};

const LEVEL_READS: Shape = {
  fields: {
    filterLookups: "number",
    filterPositives: "number",
    filterFalsePositives: "number",
    searches: "number",
    blocksRead: "number",
  },
};

export const RUN: Shape = { fields: { id: "number", tables: { list: TABLE } } };

/** The fields of each event. */
export const EVENTS: Record<string, Record<string, Shape>> = {
  recovered: {
    records: "number",
    batches: "number",
    entries: "number",
    discardedBytes: "number",
    repaired: { list: DAMAGE },
  },
  "keyspace-created": { keyspace: "keyspace" },
  "keyspace-dropped": { keyspace: "keyspace" },
  "policy-changed": { keyspace: "keyspace", policy: "policy" },
  "policy-adjusted": { keyspace: "keyspace", policy: "policy", problems: { list: "text" } },
  "memtable-sealed": { keyspace: "keyspace", bytes: "number", through: "number" },
  "live-bytes": { keyspace: "keyspace", bytes: "number" },
  operations: {
    keyspace: "keyspace",
    lastedMicros: "number",
    gets: OPERATION_STATS,
    writes: OPERATION_STATS,
    levels: { list: LEVEL_READS },
  },
  flushed: {
    keyspace: "keyspace",
    run: "number",
    tables: { list: TABLE },
    reason: "text",
    terms: { list: TERM },
    through: "number",
  },
  "range-deletes": { keyspace: "keyspace", fragments: "number", bytes: "number" },
  "compaction-begun": {
    keyspace: "keyspace",
    compaction: "number",
    groups: "number",
    order: ORDER,
    reason: "text",
    terms: { list: TERM },
    observed: OBSERVED,
  },
  "level-changed": {
    keyspace: "keyspace",
    change: LEVEL_CHANGE,
    reason: "text",
    terms: { list: TERM },
    observed: OBSERVED,
  },
  "group-begun": {
    keyspace: "keyspace",
    compaction: "number",
    inputs: { list: "number" },
    level: "level",
    run: "number",
    cuts: { list: "bytes" },
    moved: "flag",
  },
  "merge-progress": {
    compaction: "number",
    group: "number",
    readBytes: "number",
    totalBytes: "number",
    writtenBytes: "number",
  },
  "group-abandoned": { compaction: "number", group: "number" },
  "group-installed": {
    keyspace: "keyspace",
    compaction: "number",
    inputs: { list: "number" },
    level: "level",
    run: "number",
    outputs: { list: TABLE },
    moved: "flag",
  },
  "compaction-ended": { compaction: "number" },
  "plan-refused": { keyspace: "keyspace", why: "text" },
  "policy-state-refused": { keyspace: "keyspace", bytes: "number" },
  "policy-status": { keyspace: "keyspace", capacities: { list: CAPACITY }, facts: { list: FACT } },
  decided: {
    keyspace: "keyspace",
    decision: "text",
    reason: "text",
    terms: { list: TERM },
    facts: { list: FACT },
  },
  stalled: { reason: STALL_REASON },
  "stall-ended": { reason: STALL_REASON, lastedMicros: "number" },
  "slowdown-begun": { reason: STALL_REASON },
  "slowdown-ended": { reason: STALL_REASON, lastedMicros: "number" },
  "job-failed": { error: "text" },
  "file-removed": { file: "text" },
};

/** The status of a policy. */
export const STATUS: Record<string, Shape> = {
  capacities: { list: CAPACITY },
  facts: { list: FACT },
};

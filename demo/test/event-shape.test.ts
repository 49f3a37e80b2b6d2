/** Traces with events of the wrong shape: each is refused in words, or can be shown. */

import { expect, test } from "vitest";
import { LIGHT } from "../src/canvas/palette.ts";
import { toSvg } from "../src/canvas/svg-pen.ts";
import { drawTree } from "../src/canvas/tree.ts";
import type { Pen } from "../src/canvas/marks.ts";
import { bandsOf } from "../src/layout/bands.ts";
import { keyAxis } from "../src/layout/key-axis.ts";
import { policyMarks } from "../src/layout/policy-marks.ts";
import { strataOf } from "../src/layout/strata.ts";
import { writeEvents } from "../src/source/event-log.ts";
import { openFile } from "../src/source/opened.ts";
import { DEFAULTS } from "../src/source/settings.ts";
import { backgroundAt } from "../src/timeline/background.ts";
import type { RecordedEvent } from "../src/timeline/events.ts";
import { bucketsOf } from "../src/timeline/facts.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { originText, policyText } from "../src/views/own-sentence.ts";
import {
  countedWaits,
  logLine,
  nowSentence,
  reasonText,
  waitedMicros,
} from "../src/views/words.ts";
import { simulate } from "./simulator.ts";
import { wholeTrace } from "./traces.ts";

const SETTINGS = { ...DEFAULTS, policy: "leveled", load: 30_000, operations: 30_000 } as const;
const { timeline } = simulate(SETTINGS);
const recorded = timeline.events(0, timeline.length);
const levels = timeline.end.levels.map(({ runs }) => ({
  runs: runs.map(({ id, tables }) => ({ id, tables })),
}));
const { capacities, facts } = timeline.end;
const term = {
  left: { name: "bytes", of: { levels: [0, 1] }, value: 5 },
  relation: ">=",
  right: { name: "capacity", of: "tree", value: 4 },
  unit: "bytes",
  effect: { becomes: [4, 5] },
};
const reads = { updates: 1, pointReads: 2, rangeReads: 3, tableReads: { 4: 5 } };
const observed = { ...reads, blockNanos: 6, pageNanos: 7 };

/** Events that this simulation has none of. */
const others = [
  { type: "recovered", records: 1, batches: 1, entries: 1, discardedBytes: 0, repaired: [] },
  { type: "keyspace-created", keyspace: 3, name: "users" },
  { type: "policy-changed", keyspace: 0, policy: { policy: "tiered", sizeRatio: 4 } },
  { type: "policy-adjusted", keyspace: 0, policy: { policy: "tiered" }, problems: ["one"] },
  {
    type: "level-changed",
    keyspace: 0,
    change: { add: 1 },
    reason: "because",
    terms: [term],
    observed,
  },
  { type: "plan-refused", keyspace: 0, why: "not so" },
  { type: "policy-state-refused", keyspace: 0, bytes: 9 },
  {
    type: "decided",
    keyspace: 0,
    decision: "tuned",
    reason: "so",
    terms: [term],
    facts: [
      { name: "bucket-boundary", of: { item: 0 }, key: [1] },
      { name: "counter", of: "tree", value: 1, unit: "count" },
    ],
  },
  { type: "stalled", reason: "compaction-bytes" },
  { type: "stall-ended", reason: "compaction-bytes", lastedMicros: 5 },
  { type: "slowdown-begun", reason: "level0" },
  { type: "slowdown-ended", reason: "level0", lastedMicros: 5 },
  { type: "job-failed", error: "no" },
  { type: "file-removed", file: "1.sst" },
  { type: "group-abandoned", compaction: 1, group: 1 },
  { type: "shape", policy: { policy: "leveled" }, levels, capacities, facts },
  {
    type: "shape",
    release: "0.1.0",
    name: "users",
    policy: { policy: "leveled", sizeRatio: 4 },
    levels,
    capacities,
    facts,
    waits: { sync: { count: 1, micros: 5, microsMax: 5 } },
  },
  { type: "waits", waits: { sync: { count: 2, micros: 9, microsMax: 5 } } },
  {
    type: "power-failed",
    unsyncedBytes: 1,
    discardedBytes: 2,
    lostWrites: 3,
    through: 4,
    levels,
    sealed: 1,
    capacities,
    facts,
  },
] as object[];

const file = (text: string) => new File([text], "trace.ndjson");
const line = (event: object) => writeEvents([event as RecordedEvent]);

/** Shows all that the page shows of a trace. */
function show(events: readonly RecordedEvent[]): void {
  const timeline = new Timeline();
  timeline.append(events);
  const measure = { measureText: () => ({ width: 40 }) } as unknown as Pen;
  const [width, height] = [864, 520];
  const axis = keyAxis(timeline.keyFrames());
  const bands = bandsOf(timeline.keyFrames(), height);
  const { duration: micros } = timeline;
  const state = timeline.at(micros);
  const strata = strataOf(state, axis, bands, width, () => ({ read: 0, written: 0 }));
  const scene = { state, strata, axis, bands, width, height, palette: LIGHT, micros, pace: 0 };
  const none = { selected: undefined, filling: undefined, cuts: [], prefixes: undefined };
  toSvg(width, height, measure, (pen) => drawTree(pen, { ...scene, ...none }));
  policyMarks(state, axis, bands, width);
  bucketsOf(state.facts);
  nowSentence(state, micros);
  backgroundAt(timeline, micros, 2).heldUp.map(({ reason }) => reasonText(reason));
  events.map(logLine);
  countedWaits(state.waits ?? {});
  waitedMicros(state, micros);
  if (state.header !== null) originText(state.header);
  if (state.policy !== null) policyText(state.policy);
}

/** The places of a value, as paths into it; of lists only the first element. */
function* places(value: unknown, path: (string | number)[] = []): Generator<(string | number)[]> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null) return;
  const names = Array.isArray(value) ? (value.length > 0 ? [0] : []) : Object.keys(value);
  for (const name of names) {
    yield* places((value as Record<string | number, unknown>)[name], [...path, name]);
  }
}

/** A copy of a value, in which there is another at a place. */
function replaced(value: object, path: (string | number)[], other: unknown): object {
  const copy = structuredClone(value) as Record<string | number, unknown>;
  let at = copy;
  for (const name of path.slice(0, -1)) at = at[name] as typeof at;
  at[path.at(-1) as string] = other;
  return copy;
}

const samples: { type: string }[] = [
  ...[...new Set(recorded.map(({ type }) => type))].map((type) => {
    const at = recorded.findIndex((event) => event.type === type);
    return JSON.parse(line(recorded[at] as RecordedEvent)) as { type: string };
  }),
  ...others.map((event) => JSON.parse(line(event)) as { type: string }),
];

test("a trace with every type of event is shown", async () => {
  for (const sample of samples) {
    const event = { ...sample, micros: 1 };
    const opened = await wholeTrace(file(line(event)));
    expect(opened).toMatchObject({ problem: undefined, events: [{ micros: 1 }] });
    show(opened.events);
  }
});

const named = samples.map((sample) => [sample.type, sample] as const);
test.each(named)("%s of the wrong shape is refused, or shown", async (_, sample) => {
  const before = recorded.slice(0, 40);
  const micros = before.at(-1)?.micros ?? 0;
  const after = recorded.slice(40, 60);
  let refused = 0;
  for (const path of places({ ...sample, micros: undefined })) {
    for (const other of [null, "odd", -1, 1e300, {}, [], [null], true, undefined]) {
      const event = { ...replaced(sample, path, other), micros };
      const opened = await wholeTrace(file(writeEvents(before) + line(event) + writeEvents(after)));
      try {
        show(opened.events);
      } catch (error) {
        throw new Error(`shown: ${JSON.stringify(event).slice(0, 500)}`, { cause: error });
      }
      if (opened.problem === undefined) continue;
      refused += 1;
      expect(opened.events).toEqual(before);
      expect(opened.problem).toMatch(/^This trace ends at .* s: line 41 is no event: \w.*\.$/);
    }
  }
  expect(refused).toBeGreaterThan(0);
});

test("a trace without any event is refused with the reason", async () => {
  const first = '{"type":"flushed","micros":0,"run":1}\n';
  await expect(openFile(file(first))).rejects.toThrow(
    "trace.ndjson cannot be shown. This trace ends at 0.00 s: line 1 is no event: " +
      "flushed has no valid `keyspace`.",
  );
});

test("an event of a later release is passed over", async () => {
  const text = `{"type":"of-later","micros":0,"tables":5}\n${writeEvents(recorded.slice(0, 5))}`;
  const opened = await wholeTrace(file(text));
  expect(opened).toMatchObject({ problem: undefined });
  show(opened.events);
});

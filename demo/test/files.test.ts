/** Files: a trace that is saved and opened again is the same, and rows become writes. */

import { expect, test } from "vitest";
import { toSvg } from "../src/canvas/svg-pen.ts";
import type { Pen } from "../src/canvas/marks.ts";
import { drawTree } from "../src/canvas/tree.ts";
import { LIGHT } from "../src/canvas/palette.ts";
import { bandsOf } from "../src/layout/bands.ts";
import { keyAxis } from "../src/layout/key-axis.ts";
import { strataOf } from "../src/layout/strata.ts";
import { LINE_MAX, TABLES_MAX } from "../src/source/bounds.ts";
import { writeEvents } from "../src/source/event-log.ts";
import { openFile } from "../src/source/opened.ts";
import { TraceRecording } from "../src/source/trace-recording.ts";
import {
  configOf,
  DEFAULTS,
  engineDefaults,
  unusualParameters,
  withPolicy,
} from "../src/source/settings.ts";
import { originText, policyText } from "../src/views/own-sentence.ts";
import type { Timeline } from "../src/timeline/timeline.ts";
import { simulate, simulation } from "./simulator.ts";
import { recorded, wholeTrace } from "./traces.ts";

const SETTINGS = { ...DEFAULTS, policy: "leveled", load: 30_000, operations: 30_000 } as const;
const { timeline } = simulate(SETTINGS);
const events = timeline.events(0, timeline.length);
const file = (name: string, text: string) => new File([text], name);

test("a trace that was saved is opened as the same events", async () => {
  const text = file("trace.ndjson", writeEvents(events));
  expect(await openFile(text)).toEqual({ type: "trace", name: "trace.ndjson", file: text });
  expect(await wholeTrace(text)).toEqual({ events, problem: undefined });
  const recording = await recorded(SETTINGS, text);
  expect(recording.status).toEqual({ at: "ended" });
  expect(recording.timeline.end).toEqual(timeline.end);
  await expect(recording.read()).rejects.toThrow("no keys to read");
});

test("a trace of the command line is opened, too", async () => {
  const raw = simulation(configOf(SETTINGS), true);
  while (raw.advance(10_000, Infinity));
  // As it writes them: an event of JSON on each line.
  const lines = (JSON.parse(raw.events()) as object[]).map((event) => JSON.stringify(event));
  const opened = await wholeTrace(file("trace", lines.join("\n")));
  expect(opened).toEqual({ events, problem: undefined });
  // And so this page writes them: with the same names.
  const written = writeEvents(events).trimEnd().split("\n");
  expect(written.map((line) => JSON.parse(line) as unknown)).toEqual(
    lines.map((line) => JSON.parse(line) as unknown),
  );
});

test("a history of another engine is described by its header, and may know no policy", async () => {
  const table = {
    ...{ id: 3, bytes: 1000, entries: 10, tombstones: 0, first_seq: 1, last_seq: 10 },
    ...{ smallest: [97], largest: [122], filter_bits: 0, filter_bytes: 0 },
  };
  const header = {
    type: "header",
    micros: 0,
    release: "0.1.0",
    keyspace: "users",
    engine: "RocksDB",
  };
  const lines = [
    { ...header, simulation: null },
    {
      ...{ type: "shape", micros: 0, capacities: [], facts: [] },
      levels: [{ runs: [] }, { runs: [{ id: 1, tables: [table] }] }],
    },
    { type: "memtable-sealed", micros: 0, keyspace: 0, bytes: 500, through: 20 },
    {
      ...{ type: "flushed", micros: 5, keyspace: 0, run: 2, reason: "", terms: [], through: 20 },
      tables: [{ ...table, id: 4 }],
    },
  ];
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const recording = await recorded(DEFAULTS, file("history.ndjson", text));
  expect(recording.problem).toBeUndefined();
  const { header: read, policy, levels } = recording.timeline.end;
  expect(policy).toBeNull();
  expect(originText(read!)).toBe("column family users of a RocksDB store, read from its MANIFEST");
  expect(levels.map(({ runs }) => runs.length)).toEqual([1, 1]);
  const { events: again } = await wholeTrace(
    file("saved", writeEvents(recording.timeline.events(0, lines.length))),
  );
  expect(again).toEqual(recording.timeline.events(0, lines.length));
  const known = [
    { ...lines[0], policy: { policy: "leveled", "size-ratio": 4 } },
    ...lines.slice(1),
  ];
  const named = known.map((line) => JSON.stringify(line)).join("\n");
  const { settings } = await recorded(DEFAULTS, file("history.ndjson", named));
  expect(settings).toMatchObject({ policy: "leveled", parameters: { sizeRatio: 4 } });
});

test("a trace is described by its header alone", async () => {
  const text = file("trace.ndjson", writeEvents(events));
  const recording = await recorded({ ...DEFAULTS, policy: "spooky" }, text);
  expect(recording.settings).toMatchObject({ policy: "leveled", parameters: { sizeRatio: 5 } });
  const { header, policy } = recording.timeline.end;
  if (header === null || policy === null) throw new Error();
  expect(policyText(policy)).toContain("leveled with size ratio 5");
  const origin = originText(header);
  expect(origin).toMatch(/^simulated by release \S+: 30,000 keys loaded, then 30,000 operations/);
  expect(origin).toMatch(/\(update by zipf\), of 1,024 bytes, 4 workers, a device of .*, seed 7$/);
});

test("a trace without a header is described by its events", async () => {
  const text = file("trace", writeEvents(events.slice(1)));
  const recording = await recorded({ ...DEFAULTS, policy: "spooky" }, text);
  expect(recording.settings).toMatchObject({ policy: "unknown policy", parameters: {} });
  expect(recording.timeline.end).toMatchObject({ header: null, policy: null });
});

test("a trace that is cut short is shown up to there", async () => {
  const text = writeEvents(events);
  const half = file("trace.ndjson", text.slice(0, text.length >> 1));
  const opened = await wholeTrace(half);
  expect(opened.events.length).toBeGreaterThan(10);
  expect(opened.events).toEqual(events.slice(0, opened.events.length));
  const last = ((opened.events.at(-1)?.micros ?? 0) / 1e6).toFixed(2);
  expect(opened.problem).toContain(`ends at ${last} s`);
  const { problem } = await recorded(SETTINGS, half);
  expect(problem).toBe(opened.problem);
});

test("a trace ends where an event lacks what its type has, or its moment is no number", async () => {
  const text = writeEvents(events.slice(0, 20));
  const { micros } = events[19]!;
  for (const line of [
    `{"type":"flushed","micros":${micros}}`,
    '{"type":"flushed","micros":1e999}',
  ]) {
    const opened = await wholeTrace(file("trace.ndjson", `${text}${line}\n`));
    expect(opened.events).toEqual(events.slice(0, 20));
    expect(opened.problem).toContain("line 21 is no event");
  }
});

test("a line of a trace is whole wherever a chunk of the file ends", async () => {
  const bytes = new TextEncoder().encode(writeEvents(events.slice(0, 40)));
  for (const size of [1, 7, 1000]) {
    const stream = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) {
            controller.enqueue(bytes.subarray(at, at + size));
          }
          controller.close();
        },
      });
    const found = await wholeTrace({ size: bytes.length, stream } as Blob);
    expect(found).toEqual({ events: events.slice(0, 40), problem: undefined });
  }
});

test("a line without an end is refused before it is all in memory", async () => {
  let pulled = 0;
  const chunk = new Uint8Array(1 << 20).fill(32);
  const stream = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += chunk.length;
        controller.enqueue(chunk);
      },
    });
  const endless = { size: Number.MAX_SAFE_INTEGER, stream } as unknown as Blob;
  const { problem } = await wholeTrace(endless);
  expect(problem).toContain("line 1 is no event: it is longer than 32 MiB");
  expect(pulled).toBeLessThan(2 * LINE_MAX);
});

test("a trace whose tree has too many tables is shown up to there", async () => {
  const flushed = events.find((event) => event.type === "flushed");
  const [table] = flushed?.tables ?? [];
  if (flushed === undefined || table === undefined) throw new Error();
  const tables = Array.from({ length: TABLES_MAX + 1 }, (_, id) => ({ ...table, id }));
  const text = `${writeEvents([{ ...flushed, micros: 1e6, tables }])}`;
  const { problem, status } = await recorded(SETTINGS, file("trace", text));
  expect(problem).toContain(
    "shown up to 1.00 s: its tree has 20,001 tables; a page draws at most 20,000",
  );
  expect(status).toEqual({ at: "ended" });
});

test("a trace that is left is read no further", async () => {
  let taken = 0;
  async function* batches() {
    for (;;) {
      taken += 1;
      yield await Promise.resolve({ events: events.slice(0, 1), share: 0, problem: undefined });
    }
  }
  const recording = new TraceRecording(SETTINGS, batches(), () => recording.stop());
  await recording.ended;
  expect(taken).toBe(2);
});

test("rows of CSV and NDJSON become puts in their order", async () => {
  const put = (key: string, value: string) => ({
    type: "put",
    key,
    value: new TextEncoder().encode(value),
  });
  const csv = await openFile(file("rows.csv", 'name,value\nfern,1\n"a,b",2\n'));
  expect(csv).toMatchObject({ type: "rows", rows: [put("fern", "1"), put("a,b", "2")] });
  const lines = '{"value":"x","key":"b"}\n{"key":"a","value":"y"}\n';
  const ndjson = await openFile(file("rows.ndjson", lines));
  expect(ndjson).toMatchObject({ type: "rows", rows: [put("b", "x"), put("a", "y")] });
  await expect(openFile(file("rows.csv", "key,value\n"))).rejects.toThrow(
    "neither events nor rows",
  );
});

test("an exported store is recognized by either superblock, or by its name", async () => {
  const magic = "TRNVOL\r\n";
  const whole = file("notes.bin", magic.padEnd(40_000, "\0"));
  expect(await openFile(whole)).toEqual({ type: "store", name: "notes.bin", file: whole });
  const second = file("notes", `${"\0".repeat(16_384)}${magic}`.padEnd(40_000, "\0"));
  expect(await openFile(second)).toMatchObject({ type: "store" });
  const damaged = file("notes.terrane", "no superblock is left of it");
  expect(await openFile(damaged)).toMatchObject({ type: "store", file: damaged });
  const elsewhere = file("rows.csv", `key,value\na,${magic.trim()}\n`);
  expect(await openFile(elsewhere)).toMatchObject({ type: "rows" });
  await expect(openFile(file("empty", ""))).rejects.toThrow("not an exported store");
});

test("what differs from the engine's defaults is named of a store's parameters", () => {
  const policy = "tiered" as const;
  const usual = engineDefaults(policy);
  expect(unusualParameters({ ...DEFAULTS, policy, parameters: usual })).toEqual([]);
  const own = withPolicy(DEFAULTS, { policy, ...usual, sizeRatio: 7, targetFileBytes: 1 << 20 });
  expect(own.policy).toBe(policy);
  expect(unusualParameters(own).toSorted()).toEqual(["size ratio 7", "target file bytes 1 MiB"]);
});

/** Returns the picture after `count` events, as SVG, and its content. */
function pictureOf(timeline: Timeline, count: number) {
  const [width, height] = [864, 520];
  const state = timeline.after(count);
  const axis = keyAxis(timeline.keyFrames());
  const bands = bandsOf(timeline.keyFrames(), height);
  const strata = strataOf(state, axis, bands, width, () => ({ read: 0, written: 0 }));
  const measure = { measureText: () => ({ width: 40 }) } as unknown as Pen;
  const scene = { state, strata, axis, bands, width, height, palette: LIGHT, micros: state.micros };
  const svg = toSvg(width, height, measure, (pen) =>
    drawTree(pen, {
      ...scene,
      pace: 0,
      selected: undefined,
      filling: undefined,
      cuts: [],
      prefixes: undefined,
    }),
  );
  return { svg, state, wide: strata.rows.flatMap((row) => row.wide) };
}

test("the picture as SVG has the tables that the canvas has", () => {
  const { svg, wide } = pictureOf(timeline, timeline.length >> 1);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  const rects = [...svg.matchAll(/<rect x="([\d.]+)"/g)].map(([, x]) => Number(x));
  expect(wide.length).toBeGreaterThan(5);
  for (const { x } of wide) expect(rects).toContain(Math.round(x * 100) / 100);
});

test.each(["ascending", "uniform"] as const)(
  "what the latest compaction moved has a dashed edge, and what it merged has none, %s",
  (workload) => {
    const { timeline } = simulate({ ...SETTINGS, workload });
    let [moved, merged] = [0, 0];
    for (let count = 1; count <= timeline.length; count++) {
      if (timeline.event(count - 1)?.type !== "group-installed") continue;
      const { svg, state, wide } = pictureOf(timeline, count);
      const latest = wide.filter(({ table }) => table.compaction === state.latest?.id);
      const dashed = latest.filter(({ table }) => table.arrival === "moved");
      const edges = [...svg.matchAll(/<path d="([^"]*)"[^>]*stroke-dasharray="4 3"/g)];
      // A level's edges are one path, with a rectangle for each.
      const drawn = edges.map(([, path = ""]) => path.match(/M/g)?.length ?? 0);
      expect(drawn.reduce((sum, count) => sum + count, 0)).toBe(dashed.length);
      moved += dashed.length;
      merged += latest.length - dashed.length;
    }
    expect(workload === "ascending" ? moved : merged).toBeGreaterThan(3);
  },
);

/** A MANIFEST of RocksDB or Pebble is read by a module of its own, and shown as a trace is. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readManifest } from "../src/source/manifest-reader.ts";
import { MANIFEST_MAX, optionsAmong, startsAsManifest } from "../src/source/manifest.ts";
import { openFile } from "../src/source/opened.ts";
import { DEFAULTS } from "../src/source/settings.ts";
import { TraceRecording } from "../src/source/trace-recording.ts";
import type { Batch } from "../src/source/trace.ts";
import { treeTables } from "../src/timeline/state.ts";
import { originText } from "../src/views/own-sentence.ts";
import { type Edit, pebbleManifest } from "./pebble.ts";

const at = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url));
const module = new WebAssembly.Module(at("target/foreign-wasm/terrane_foreign_bg.wasm"));
const rocksdb = (name: string) => new File([at(`crates/foreign/data/${name}`)], "MANIFEST-000005");

/** Records the history of a file, and returns it with the facts of its first batch. */
async function history(
  file: File,
  { options = "", family = undefined as string | undefined } = {},
) {
  const facts: Batch["foreign"][] = [];
  async function* batches() {
    for await (const batch of readManifest(file, { module, options, family }, 10)) {
      facts.push(batch.foreign);
      yield batch;
    }
  }
  const recording = new TraceRecording(DEFAULTS, batches(), () => undefined);
  await recording.ended;
  return { recording, facts: facts[0] };
}

test("a MANIFEST of RocksDB ends with the tables that the engine had", async () => {
  const file = rocksdb("rocksdb-leveled");
  expect(await openFile(file)).toMatchObject({ type: "manifest", name: "MANIFEST-000005" });
  const { facts, recording } = await history(file);
  expect(facts).toMatchObject({ engine: "RocksDB", family: "default", comparator: null });
  expect(facts?.families).toEqual(["default", "users", "old"]);
  expect(recording.status).toEqual({ at: "ended" });
  expect(recording.problem).toBeUndefined();
  const { end } = recording.timeline;
  const header = end.header;
  if (header === null) throw new Error("There is no header.");
  expect(originText(header)).toBe(
    "column family default of a RocksDB store, read from its MANIFEST",
  );
  const tables = at("crates/foreign/data/rocksdb-leveled.tables").toString().trim().split("\n");
  let found = 0;
  for (const family of facts?.families ?? []) {
    const { facts, recording } = await history(file, { family });
    expect(facts?.family).toBe(family);
    found += treeTables(recording.timeline.end);
  }
  expect(found).toBe(tables.length);
});

const created = 1_764_000_000;
const EDITS: Edit[] = [
  { comparator: "leveldb.BytewiseComparator", nextFile: 2 },
  {
    nextFile: 5,
    added: [{ level: 0, number: 4, bytes: 5000, keys: ["a", "m"], seqs: [1, 40], created }],
  },
  {
    nextFile: 7,
    added: [
      { level: 0, number: 6, bytes: 6000, keys: ["c", "z"], seqs: [41, 90], created: created + 2 },
    ],
  },
  {
    nextFile: 9,
    removed: [
      [0, 4],
      [0, 6],
    ],
    added: [
      { level: 6, number: 8, bytes: 10_000, keys: ["a", "z"], seqs: [0, 0], created: created + 3 },
    ],
  },
];

test("a MANIFEST of Pebble is a flush, a flush and a merge", async () => {
  const { facts, recording } = await history(new File([pebbleManifest(EDITS)], "MANIFEST-000001"));
  expect(facts).toMatchObject({ engine: "Pebble", families: ["default"] });
  const { timeline, problem } = recording;
  expect(problem).toBeUndefined();
  const events = timeline.events(0, timeline.length);
  const groups = events.filter((event) => event.type === "group-installed");
  expect(events.filter(({ type }) => type === "flushed")).toHaveLength(2);
  expect(groups.map(({ inputs, level, moved }) => [[...inputs].sort(), level, moved])).toEqual([
    [[4, 6], 6, false],
  ]);
  expect(timeline.duration).toBe(3_000_000);
});

test("a history that breaks off, or whose keys have another order, says so", async () => {
  const [, ...others] = EDITS;
  const bytes = pebbleManifest([{ comparator: "cockroach_comparator" }, ...others]);
  const whole = await history(new File([bytes], "MANIFEST-000001"));
  expect(whole.recording.problem).toContain("not by cockroach_comparator");
  bytes[60] = 0xff ^ (bytes[60] ?? 0);
  const { problem } = (await history(new File([bytes], "MANIFEST-000001"))).recording;
  expect(problem).toContain("The history ends where the file is not readable: at byte");
});

test("the newest OPTIONS file beside a MANIFEST says the policy", async () => {
  const file = (name: string, text = "") => new File([text], name);
  const [manifest, newer] = [file("MANIFEST-000005"), file("OPTIONS-000012")];
  const found = optionsAmong([file("OPTIONS-000009"), manifest, newer]);
  expect(found).toEqual({ file: manifest, options: newer });
  expect(found.options).toBe(newer);
  expect(optionsAmong([newer])).toEqual({ file: newer, options: undefined });
  for (const files of [[manifest, file("rows.csv")], [newer, file("OPTIONS-000001")], []])
    expect(() => optionsAmong(files)).toThrow("One file is shown at a time");
  const options =
    "[Version]\n  pebble_version=0.1\n[Options]\n  l0_compaction_threshold=2\n  lbase_max_bytes=4194304\n" +
    '[Level "0"]\n  target_file_size=2097152\n';
  const { recording } = await history(new File([pebbleManifest(EDITS)], "MANIFEST-000001"), {
    options,
  });
  expect(recording.settings).toMatchObject({
    policy: "leveled",
    parameters: { l0CompactionTrigger: 2, targetFileBytes: 2_097_152 },
  });
});

test("text and other bytes do not start as a MANIFEST does", async () => {
  const starts = (...parts: BlobPart[]) => startsAsManifest(new Blob(parts));
  expect(await starts(pebbleManifest(EDITS))).toBe(true);
  for (const text of ["", "key,value\n", '{"type":"header"}', "TRNVOL\r\n"])
    expect(await starts(text), text).toBe(false);
  expect(await starts(new Uint8Array([1, 2, 3, 4, 255, 255, 1, 0]))).toBe(false);
});

test("a MANIFEST that is too large for a page names the command", async () => {
  const start = pebbleManifest(EDITS);
  const file = new File([start], "MANIFEST-000007");
  Object.defineProperty(file, "size", { value: MANIFEST_MAX + 1 });
  await expect(openFile(file)).rejects.toThrow("terrane history MANIFEST-000007");
});

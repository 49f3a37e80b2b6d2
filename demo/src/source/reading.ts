/** Reads of single keys, and of the first of a range, on the engine, as its store is now. */

import type { Db, Step } from "terrane";
import { type State, tablesOf } from "../timeline/state.ts";
import { placesOf, type Range, type ReadPath, type Wanted } from "./read-path.ts";

/** Keys that are tried until a filter is wrong about one. */
const TRIES = 2000;

/** A store of this page, or one of its keyspaces. */
export type Reader = Pick<Db, "trace" | "traceScan" | "get" | "keys">;

/** Reader of single keys. */
export interface KeyReader {
  /** Returns the steps of a get. */
  steps(key: Uint8Array): Promise<readonly Step[]>;
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  /** Returns the first key from one on, if there is one. */
  next(from: Uint8Array): Promise<Uint8Array | undefined>;
}

/** Reads keys of a store of this page. */
export function localReader(reader: Reader): KeyReader {
  return {
    steps: async (key) => (await reader.trace(key)).steps,
    get: (key) => reader.get(key, { valueEncoding: "binary" }),
    async next(from) {
      const keys = reader.keys({ gte: from, limit: 1, keyEncoding: "binary" });
      for await (const key of keys) return key;
      return undefined;
    },
  };
}

/** Bytes after a table's smallest key, with which a key is one that hardly any store has. */
const RANDOM_BYTES = 8;

/** Reads a key; the tree is as it is now, which is the moment that the read is shown at. */
export async function readKey(
  reader: KeyReader,
  wanted: Wanted,
  { levels, micros }: State,
): Promise<ReadPath> {
  const path = (key: Uint8Array, steps: readonly Step[]) => ({
    key,
    micros,
    places: placesOf(steps),
  });
  if (wanted.by === "key") {
    const key = wanted.next ? ((await reader.next(wanted.key)) ?? wanted.key) : wanted.key;
    // Before the get, which puts its block into the cache.
    const found = path(key, await reader.steps(key));
    const began = performance.now();
    const value = await reader.get(key);
    return { ...found, answer: { value, milliseconds: performance.now() - began } };
  }
  // Only tables that cover a key are asked for it.
  const tables = levels.flatMap(tablesOf);
  for (let i = 0; i < TRIES; i++) {
    const { smallest = new Uint8Array() } = tables[(i * 7919) % tables.length] ?? {};
    const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
    const key = Uint8Array.of(...smallest, ...random);
    const steps = await reader.steps(key);
    const wrong = steps.some((step) => step.step === "absent" && step.falsePositive);
    if (wrong) return path(key, steps);
  }
  throw new Error(`No filter was wrong about any of ${TRIES} keys.`);
}

/** Seeks to the first entry of a range; undefined if it is empty. */
export async function firstOf(
  reader: Reader,
  range: Range,
  { micros }: State,
): Promise<ReadPath | undefined> {
  const { steps } = await reader.traceScan(range);
  const last = steps.at(-1);
  return last?.step === "row" ? { key: last.key, micros, places: placesOf(steps) } : undefined;
}

/**
 * One run: what is done with one store, and how fast.
 *
 * 1. Into an empty store go all entries, shuffled, in batches of 1000.
 * 2. The store rests for a second, so that what it does on its own afterwards is done.
 * 3. Then come single puts over what is there, gets, and scans where there are any.
 * 4. A workload runs in parts, and the first few, its warm-up, are not timed: in them the browser
 *    compiles what runs often. After each part the clock stands still while what was read is compared
 *    with what must be there.
 * 5. At the end the whole store is read in key order and compared: by scans, or else by gets.
 */

import type { Entry, Store } from "./contender.ts";
import { equal, makeKeys, makeValue, Random, shuffled } from "./data.ts";

/** Sizes of workloads. */
export interface Scale {
  entries: number;
  puts: number;
  gets: number;
  /** Number of lookups of 100 keys together. */
  lookups: number;
  scans: number;
}

/** Operations per second of each workload; an operation of a batch or lookup is one of its entries. */
export type Speeds = Record<string, number>;

const BATCH = 1000;
const TOGETHER = 100;
const SCAN = 100;
const OUTSTANDING = 64;
const REST_MILLISECONDS = 1000;
/** Number of timed parts of a workload; the first ones are its warm-up. */
const PARTS = 20;
const WARM_UP_PARTS = 5;

/** Expected content of the store. */
class Expected {
  readonly keys: Uint8Array[];
  readonly #values: Uint8Array[];
  readonly #random = new Random(2);

  constructor(count: number) {
    this.keys = makeKeys(count);
    this.#values = [];
  }

  /** Ranks at random, of those that have `room` ranks from them on. */
  ranks(count: number, room = 1): number[] {
    const limit = this.keys.length - room + 1;
    return Array.from({ length: count }, () => this.#random.below(limit));
  }

  /** A new value for the key of that rank. */
  write(rank: number): Entry {
    const value = makeValue(this.#random);
    this.#values[rank] = value;
    return [this.keys[rank]!, value];
  }

  check(rank: number, value: Uint8Array | undefined): void {
    if (value === undefined || !equal(value, this.#values[rank]!)) {
      throw new Error(`rank ${rank}: expected ${this.#values[rank]}, found ${value}`);
    }
  }

  /** Compares the entries of a scan that started at `rank` and was to give `count`. */
  checkScan(rank: number, count: number, found: readonly Entry[]): void {
    const wanted = Math.min(count, this.keys.length - rank);
    if (found.length !== wanted) {
      throw new Error(`expected ${wanted} entries, found ${found.length}`);
    }
    for (const [at, [key, value]] of found.entries()) {
      if (!equal(key, this.keys[rank + at]!)) throw new Error(`rank ${rank + at}: another key`);
      this.check(rank + at, value);
    }
  }
}

/** Runs everything on an empty store. */
export async function run(store: Store, scale: Scale): Promise<Speeds> {
  const expected = new Expected(scale.entries);
  const { keys } = expected;
  const speeds: Speeds = {};

  const batches = chunks(shuffled(scale.entries, 3), BATCH).map((chunk) =>
    chunk.map((rank) => expected.write(rank)),
  );
  speeds["batches of 1000"] = BATCH * (await time(batches, 1, (batch) => store.batch(batch)));
  await new Promise((resolve) => setTimeout(resolve, REST_MILLISECONDS));

  for (const [words, outstanding] of [
    ["awaited singly", 1],
    [`${OUTSTANDING} outstanding`, OUTSTANDING],
  ] as const) {
    const entries = expected.ranks(scale.puts).map((rank) => expected.write(rank));
    speeds[`puts, ${words}`] = await time(entries, outstanding, (entry) => store.put(entry));
  }

  for (const [words, outstanding] of [
    ["awaited singly", 1],
    [`${OUTSTANDING} outstanding`, OUTSTANDING],
  ] as const) {
    speeds[`gets, ${words}`] = await time(
      expected.ranks(scale.gets),
      outstanding,
      (rank) => store.get(keys[rank]!),
      (rank, value) => expected.check(rank, value),
    );
  }

  const lookups = chunks(expected.ranks(scale.lookups * TOGETHER), TOGETHER);
  const together = await time(
    lookups.map((ranks) => ({ ranks, keys: ranks.map((rank) => keys[rank]!) })),
    1,
    (lookup) => store.getMany(lookup.keys),
    ({ ranks }, values) => ranks.forEach((rank, at) => expected.check(rank, values[at])),
  );
  speeds["100 gets together"] = TOGETHER * together;

  const { scan } = store;
  if (scan !== undefined) {
    speeds["scans of 100"] = await time(
      expected.ranks(scale.scans, SCAN),
      1,
      (rank) => scan(keys[rank]!, SCAN),
      (rank, entries) => expected.checkScan(rank, SCAN, entries),
    );
  }

  for (let rank = 0; rank < keys.length; rank += BATCH) {
    if (scan !== undefined) {
      expected.checkScan(rank, BATCH, await scan(keys[rank]!, BATCH));
    } else {
      const values = await store.getMany(keys.slice(rank, rank + BATCH));
      values.forEach((value, at) => expected.check(rank + at, value));
    }
  }
  return speeds;
}

/**
 * Does every operation, at most `outstanding` at a time. Returns how many per second, of all but the
 * warm-up. The clock stands still between parts, while what came back is compared.
 */
async function time<T, R>(
  operations: readonly T[],
  outstanding: number,
  perform: (operation: T) => R | Promise<R>,
  check: (operation: T, result: R) => void = () => undefined,
): Promise<number> {
  let milliseconds = 0;
  let timed = 0;
  for (const [at, part] of chunks(operations, Math.ceil(operations.length / PARTS)).entries()) {
    const began = performance.now();
    const results = await runLanes(part, outstanding, perform);
    const took = performance.now() - began;
    if (at >= WARM_UP_PARTS) {
      milliseconds += took;
      timed += part.length;
    }
    part.forEach((operation, i) => check(operation, results[i]!));
  }
  return (1000 * timed) / milliseconds;
}

/** Runs lanes, each of which takes the next operation when its last one is done. */
async function runLanes<T, R>(
  operations: readonly T[],
  lanes: number,
  perform: (operation: T) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    while (next < operations.length) {
      const at = next++;
      const result = perform(operations[at]!);
      results[at] = result instanceof Promise ? await result : result;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}

/** Parts of `size` items; the last may have fewer. */
function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

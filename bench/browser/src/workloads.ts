/**
 * One run: what is done with one store, and how fast.
 *
 * 1. Into an empty store go all entries, shuffled, in batches of 1000.
 * 2. The store rests for a second, so that what it does on its own afterwards is done.
 * 3. Then come single puts over what is there, gets, and scans.
 * 4. The first tenth of each workload is its warm-up and is not timed.
 * 5. What was read is compared with what must be there, after the clock has stopped. At the end the
 *    whole store is read in key order and compared.
 */

import type { Entry, Store } from "./contender.ts";
import { equal, makeKeys, makeValue, Random, shuffled } from "./data.ts";

/** How much is done. */
export interface Scale {
  entries: number;
  puts: number;
  gets: number;
  /** How often 100 keys are looked up together. */
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

/** Keys and which version of each value is in the store. */
class Expected {
  readonly keys: Uint8Array[];
  readonly #versions: Uint8Array;
  readonly #random = new Random(2);

  constructor(count: number) {
    this.keys = makeKeys(count);
    this.#versions = new Uint8Array(count);
  }

  /** Ranks at random, of those that have `room` ranks from them on. */
  ranks(count: number, room = 1): number[] {
    const limit = this.keys.length - room + 1;
    return Array.from({ length: count }, () => this.#random.below(limit));
  }

  /** A new value for the key of that rank. */
  write(rank: number): Entry {
    const version = ++this.#versions[rank]!;
    return [this.keys[rank]!, makeValue(rank, version)];
  }

  check(rank: number, value: Uint8Array | undefined): void {
    const version = this.#versions[rank]!;
    if (value === undefined || !equal(value, makeValue(rank, version))) {
      throw new Error(`rank ${rank}: expected version ${version}, found ${value}`);
    }
  }

  /** Compares the entries of a scan that began at `rank` and was to give `count`. */
  checkScan(rank: number, count: number, found: readonly Entry[]): void {
    const wanted = Math.min(count, this.keys.length - rank);
    if (found.length !== wanted)
      throw new Error(`expected ${wanted} entries, found ${found.length}`);
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
  const keysOf = (ranks: readonly number[]) => ranks.map((rank) => keys[rank]!);

  const batches = chunks(shuffled(scale.entries, 3), BATCH).map((chunk) =>
    chunk.map((rank) => expected.write(rank)),
  );
  const loaded = await time(batches, 1, (batch) => store.batch(batch));
  speeds["batches of 1000"] = loaded.perSecond * BATCH;
  await new Promise((resolve) => setTimeout(resolve, REST_MILLISECONDS));

  for (const [name, outstanding] of [
    ["puts, awaited singly", 1],
    [`puts, ${OUTSTANDING} outstanding`, OUTSTANDING],
  ] as const) {
    const entries = expected.ranks(scale.puts).map((rank) => expected.write(rank));
    const put = await time(entries, outstanding, (entry) => store.put(entry));
    speeds[name] = put.perSecond;
  }

  for (const [name, outstanding] of [
    ["gets, awaited singly", 1],
    [`gets, ${OUTSTANDING} outstanding`, OUTSTANDING],
  ] as const) {
    const ranks = expected.ranks(scale.gets);
    const got = await time(keysOf(ranks), outstanding, (key) => store.get(key));
    speeds[name] = got.perSecond;
    for (const [at, value] of got.answers.entries()) expected.check(ranks[at]!, value);
  }

  const sets = chunks(expected.ranks(scale.lookups * TOGETHER), TOGETHER);
  const together = await time(sets.map(keysOf), 1, (set) => store.getMany(set));
  speeds["100 gets together"] = together.perSecond * TOGETHER;
  for (const [set, values] of together.answers.entries()) {
    for (const [at, rank] of sets[set]!.entries()) expected.check(rank, values[at]);
  }

  const starts = expected.ranks(scale.scans, SCAN);
  const scanned = await time(keysOf(starts), 1, (from) => store.scan(from, SCAN));
  speeds["scans of 100"] = scanned.perSecond;
  for (const [at, entries] of scanned.answers.entries()) {
    expected.checkScan(starts[at]!, SCAN, entries);
  }

  for (let rank = 0; rank < keys.length; rank += BATCH) {
    expected.checkScan(rank, BATCH, await store.scan(keys[rank]!, BATCH));
  }
  return speeds;
}

/** Does every operation, at most so many at a time, and times all but the first tenth. */
async function time<T, R>(
  operations: readonly T[],
  outstanding: number,
  perform: (operation: T) => R | Promise<R>,
): Promise<{ perSecond: number; answers: R[] }> {
  const answers: R[] = [];
  const warm = Math.ceil(operations.length / 10);
  await runLanes(operations, 0, warm, outstanding, perform, answers);
  const began = performance.now();
  await runLanes(operations, warm, operations.length, outstanding, perform, answers);
  const seconds = (performance.now() - began) / 1000;
  return { perSecond: (operations.length - warm) / seconds, answers };
}

/** So many lanes, each of which takes the next operation when its last one is answered. */
async function runLanes<T, R>(
  operations: readonly T[],
  from: number,
  to: number,
  lanes: number,
  perform: (operation: T) => R | Promise<R>,
  answers: R[],
): Promise<void> {
  let next = from;
  const lane = async () => {
    while (next < to) {
      const at = next++;
      const answer = perform(operations[at]!);
      answers[at] = answer instanceof Promise ? await answer : answer;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const count = Math.floor(items.length / size);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}

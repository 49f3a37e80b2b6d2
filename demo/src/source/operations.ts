/** The operations of a recording on the engine: the same for the same settings. */

import { INSERTS, PREFIXES, type Settings } from "./settings.ts";

/** A write of the application. */
export type Write =
  { type: "put"; key: string; value: Uint8Array<ArrayBuffer> } | { type: "delete"; key: string };

/** Next operation of the application, which may be a read. */
export type Operation = Write | { type: "get"; key: string };

/** Ranges of the workload whose ranges shift, each hot for as many operations. */
const RANGES = 12;
/** The share of operations that go to the hot range. */
const HOT = 0.9;
/** Exponent of Zipf's law. */
const EXPONENT = 0.9;

/** Yields the load, then what follows. */
export function* operationsOf(settings: Settings): Generator<Operation> {
  const { load, operations, workload } = settings;
  const draw = random(settings.seed);
  const value = values(settings.valueBytes, draw);
  const inOrder = ["ascending", "shifting", "hot", "growing"].includes(workload);
  const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
  const key = (number: number) =>
    (workload === "prefixes" ? hex(number % PREFIXES, 2) : "") +
    hex(inOrder ? number : scatter(number), 8);
  for (let number = 0; number < load; number++) {
    yield { type: "put", key: key(number), value: value() };
  }
  const zipf = 1 / (1 - EXPONENT);
  let keys = load;
  for (let number = 0; number < operations; number++) {
    const range = Math.floor((number / operations) * RANGES);
    const chosen = {
      uniform: () => draw(),
      prefixes: () => draw(),
      deletes: () => draw(),
      mixed: () => draw(),
      // Halfway between two keys: rounding gives each number its own.
      ascending: () => 1 + (number + 0.5) / load,
      // The inverse of the law's cumulative distribution, for numbers between 0 and 1.
      zipf: () => draw() ** zipf,
      // The same from the last key down: the least number would be the key after it.
      hot: () => 1 - Math.max(draw() ** zipf, 1 / load),
      growing: () =>
        (draw() < INSERTS ? keys++ + 0.5 : keys * (1 - Math.max(draw() ** zipf, 1 / keys))) / load,
      shifting: () => (draw() < HOT ? (range + draw()) / RANGES : draw()),
    }[workload]();
    const at = key(Math.floor(chosen * load));
    if (workload === "deletes" && draw() < 0.3) yield { type: "delete", key: at };
    else if (workload === "mixed" && draw() < 0.5) yield { type: "get", key: at };
    else yield { type: "put", key: at, value: value() };
  }
}

/** Numbers from 0 to 1, by a seed: mulberry32. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A number's place among all of 32 bits; no two share one. */
function scatter(number: number): number {
  let mixed = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Values of a size, which do not compress. */
function values(bytes: number, draw: () => number): () => Uint8Array<ArrayBuffer> {
  const pool = Uint8Array.from({ length: bytes + (1 << 16) }, () => draw() * 256);
  return () => {
    const start = Math.floor(draw() * (1 << 16));
    return pool.slice(start, start + bytes);
  };
}

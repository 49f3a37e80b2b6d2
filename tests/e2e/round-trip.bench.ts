/**
 * Prints what a page's single get costs by the way it takes to the store's worker: `npm run round-trip`.
 *
 * 1. None: an empty message each way, to a worker that only replies.
 * 2. The package's own: a message each way, with all that the client and the worker do.
 * 3. A bare message each way, to a worker that has the same store by `terrane/worker`.
 * 4. A ring in shared memory, to the same worker: the page writes the key, rings, and waits for the value, and the
 *    worker waits for keys, both by `Atomics.waitAsync`, since neither may block.
 *
 * The empty message goes to the worker of the bare one. The ways take turns, round by round, a get at a time.
 * `TERRANE_ROUND_TRIP_GETS` is the number of gets of a turn.
 */

import { expect, openStorePage, type Page, test } from "./fixtures.ts";
import { ISOLATED } from "./server.ts";

const GETS = Number(process.env["TERRANE_ROUND_TRIP_GETS"] ?? 2000);
const ROUNDS = 10;
const ROWS = 20_000;

const WAYS = ["an empty message", "the package", "a message", "a ring"] as const;
type Way = (typeof WAYS)[number];

/** The ring's words: how many keys were written, how many values; then the lengths of a key and of a value. */
const [ASKED, ANSWERED, KEY_BYTES, VALUE_BYTES, WORDS] = [0, 1, 2, 3, 4];
/** The bytes of the ring: its words, a key and a value. */
const [KEY_AT, VALUE_AT, RING_BYTES] = [4 * WORDS, 256, 4096];

declare global {
  interface Window {
    ways: Record<Way, (key: string) => Promise<string | undefined>>;
  }
}

/** Opens a store for the package and one for a worker of its own, with the same rows; the window has the ways. */
function install(page: Page) {
  return page.evaluate(
    async ([rows, ASKED, ANSWERED, KEY_BYTES, VALUE_BYTES, KEY_AT, VALUE_AT, RING_BYTES]) => {
      const fill = { rows, value: "v".repeat(100) };
      const db = await window.terrane.open("package", { threads: false });
      for (let row = 0; row < fill.rows; row += 1000) {
        await db.batch(
          Array.from({ length: 1000 }, (_, i) => {
            const key = `${row + i}`.padStart(16, "0");
            return { type: "put" as const, key, value: key + fill.value };
          }),
        );
      }
      await db.flush();
      const script = `
        import { open } from "${location.origin}/isolated/terrane/dist/sync.js";
        const db = await open("own");
        for (let row = 0; row < ${fill.rows}; row++) {
          const key = String(row).padStart(16, "0");
          db.put(key, key + "${fill.value}");
        }
        db.flush();
        const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
        const serve = async (ring) => {
          const [words, bytes] = [new Int32Array(ring), new Uint8Array(ring)];
          for (let seen = 0; ; seen++) {
            const wait = Atomics.waitAsync(words, ${ASKED}, seen);
            if (wait.async) await wait.value;
            // What is shared cannot be decoded.
            const key = decoder.decode(bytes.slice(${KEY_AT}, ${KEY_AT} + words[${KEY_BYTES}]));
            const value = encoder.encode(db.get(key));
            bytes.set(value, ${VALUE_AT});
            words[${VALUE_BYTES}] = value.length;
            Atomics.add(words, ${ANSWERED}, 1);
            Atomics.notify(words, ${ANSWERED});
          }
        };
        onmessage = ({ data }) => {
          if (data === null) postMessage(null);
          else if (typeof data === "string") postMessage(db.get(data));
          else serve(data);
        };
        postMessage("ready");`;
      const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      const worker = new Worker(url, { type: "module" });
      const reply = <T>() =>
        new Promise<T>((resolve, reject) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = ({ message }) => reject(new Error(message));
        });
      await reply<string>();
      const ring = new SharedArrayBuffer(RING_BYTES);
      const [words, bytes] = [new Int32Array(ring), new Uint8Array(ring)];
      worker.postMessage(ring);
      const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
      window.ways = {
        "an empty message": async (key) => {
          const answered = reply<null>();
          worker.postMessage(null);
          await answered;
          return key;
        },
        "the package": (key) => db.get(key),
        "a message": (key) => {
          const value = reply<string>();
          worker.postMessage(key);
          return value;
        },
        "a ring": async (key) => {
          const encoded = encoder.encode(key);
          bytes.set(encoded, KEY_AT);
          words[KEY_BYTES] = encoded.length;
          const seen = Atomics.load(words, ANSWERED);
          Atomics.add(words, ASKED, 1);
          Atomics.notify(words, ASKED);
          const wait = Atomics.waitAsync(words, ANSWERED, seen);
          if (wait.async) await wait.value;
          return decoder.decode(bytes.slice(VALUE_AT, VALUE_AT + words[VALUE_BYTES]!));
        },
      };
    },
    [ROWS, ASKED, ANSWERED, KEY_BYTES, VALUE_BYTES, KEY_AT, VALUE_AT, RING_BYTES] as const,
  );
}

/** Gets rows one by one; returns the microseconds of each. */
function turn(page: Page, way: Way, gets: number, seed: number): Promise<number[]> {
  return page.evaluate(
    async ([way, gets, rows, seed]) => {
      const times: number[] = [];
      let random = seed;
      for (let n = 0; n < gets; n++) {
        random = (random * 48271) % 0x7fffffff;
        const key = `${random % rows}`.padStart(16, "0");
        const began = performance.now();
        const value = await window.ways[way](key);
        times.push((performance.now() - began) * 1000);
        if (!value?.startsWith(key)) throw new Error(`${way}: not the value of ${key}: ${value}`);
      }
      return times;
    },
    [way, gets, ROWS, seed] as const,
  );
}

const at = (numbers: readonly number[], part: number) =>
  numbers[Math.floor(part * (numbers.length - 1))] ?? 0;

test("the round trip of a page's get", async ({ browserName, context, origin }) => {
  const page = await openStorePage(context, origin, ISOLATED);
  await install(page);
  const times = new Map<Way, number[]>(WAYS.map((way) => [way, []]));
  // What is compiled by and by is compiled then.
  for (const way of WAYS) await turn(page, way, GETS, 1);
  for (let round = 0; round < ROUNDS; round++) {
    for (const way of round % 2 === 0 ? WAYS : [...WAYS].reverse()) {
      times.get(way)?.push(...(await turn(page, way, GETS, round + 2)));
    }
  }
  const meanOf = (all: readonly number[]) => all.reduce((sum, time) => sum + time, 0) / all.length;
  const empty = times.get("an empty message") ?? [];
  for (const [way, all] of times) {
    expect(all.length).toBe(GETS * ROUNDS);
    all.sort((a, b) => a - b);
    const mean = meanOf(all);
    const parts = [0.5, 0.9, 0.99].map((part) => at(all, part).toFixed(0));
    console.log(
      `${browserName}, a get by ${way}: mean ${mean.toFixed(0)}, p50 ${parts[0]}, ` +
        `p90 ${parts[1]}, p99 ${parts[2]} us; ${(mean / meanOf(empty)).toFixed(2)} and ` +
        `${(at(all, 0.5) / at(empty, 0.5)).toFixed(2)} of an empty message`,
    );
  }
});

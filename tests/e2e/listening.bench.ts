/**
 * Prints what listening to events costs a load in a worker: `npm run listening`. Two new stores in memory,
 * in one thread, get the same rows, one with a listener and one without, a batch at a time in turns that
 * start with either; the store that was opened first has the listener in every other pair, since it has
 * other memory. Each pair of stores gives a ratio of times. Since every pair does the same, the least
 * time of each batch over all pairs is what a busy machine disturbs least, and gives another ratio.
 */

import { test } from "./fixtures.ts";

/** Pairs of stores, the batches of each, and the rows of a batch: many, since the clock is coarse. */
const [PAIRS, BATCHES, ROWS] = [30, 40, 2000];

/** Milliseconds of each batch, and the number of events. */
interface Result {
  listened: number[];
  alone: number[];
  heard: number;
}

/** Runs in the worker: one pair of stores, and so one ratio. */
async function pair(
  { open }: typeof import("../../bindings-js/dist/sync/index.js"),
  batches: number,
  rows: number,
  swapped: boolean,
): Promise<Result> {
  const value = crypto.getRandomValues(new Uint8Array(1024));
  const store = () =>
    open(`listening-${crypto.randomUUID()}`, {
      storage: "memory",
      memtableBytes: 1 << 20,
      policies: "all",
      policy: { policy: "leveled", levelBaseBytes: 4 << 20, targetFileBytes: 1 << 20 },
    });
  const [first, second] = [await store(), await store()];
  const [listened, alone] = swapped ? [second, first] : [first, second];
  let heard = 0;
  const ended = (async () => {
    for await (const _ of listened.events()) heard += 1;
  })();
  const times = new Map<unknown, number[]>([
    [listened, []],
    [alone, []],
  ]);
  for (let batch = 0; batch < batches; batch++) {
    const puts = Array.from({ length: rows }, (_, i) => {
      const number = Math.imul(batch * rows + i, 0x9e3779b1) >>> 0;
      return { type: "put" as const, key: number.toString(16).padStart(8, "0"), value };
    });
    for (const db of batch % 2 === 0 ? [listened, alone] : [alone, listened]) {
      const began = performance.now();
      db.batch(puts);
      times.get(db)?.push(performance.now() - began);
    }
    // The listener takes its events, outside of what is measured.
    await new Promise((passed) => setTimeout(passed));
  }
  listened.close();
  alone.close();
  await ended;
  return { listened: times.get(listened) ?? [], alone: times.get(alone) ?? [], heard };
}

test("listening", async ({ storePage }) => {
  const page = await storePage();
  const results: Result[] = [];
  for (let i = 0; i < PAIRS; i++) {
    const result = await page.evaluate(
      async ({ pair, batches, rows, swapped }) => {
        const script = `
          import * as terrane from "${location.origin}/terrane/dist/sync.js";
          (${pair})(terrane, ${batches}, ${rows}, ${swapped}).then(
            (result) => postMessage({ result }),
            (error) => postMessage({ error: String(error.stack ?? error) }),
          );`;
        const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
        const worker = new Worker(url, { type: "module" });
        const reply = await new Promise<{ result: Result; error?: string }>((resolve) => {
          worker.onmessage = ({ data }) => resolve(data);
        });
        worker.terminate();
        if (reply.error !== undefined) throw new Error(reply.error);
        return reply.result;
      },
      { pair: pair.toString(), batches: BATCHES, rows: ROWS, swapped: i % 2 === 1 },
    );
    if (result.heard < 100) throw new Error(`only ${result.heard} events were heard`);
    results.push(result);
  }
  const sum = (times: number[]) => times.reduce((sum, time) => sum + time, 0);
  const least = (of: "listened" | "alone") =>
    sum(
      Array.from({ length: BATCHES }, (_, i) => Math.min(...results.map((one) => one[of][i] ?? 0))),
    );
  const ratios = results.map(({ listened, alone }) => sum(listened) / sum(alone));
  ratios.sort((a, b) => a - b);
  const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`;
  console.log(
    `listening costs a load ${percent(ratios[PAIRS >> 1] ?? 0)}, the median of ${PAIRS} pairs ` +
      `(${ratios.map(percent).join(", ")}); ${percent(least("listened") / least("alone"))} by the least ` +
      `time of each batch; ${results[0]?.heard} events`,
  );
});

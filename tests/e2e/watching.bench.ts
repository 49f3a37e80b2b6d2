/**
 * Prints what 100 watches cost batches of a page: `npm run watching`. Two new stores on files get the same batches in
 * turns, one with watches that take every change and one without; the store that was opened first has them in every
 * other pair. 39 % of the rows are watched, so that each batch changes all watches. The least time of each batch over
 * all pairs is what a busy machine disturbs least. The first batch of a store also waits for the start of its watches,
 * and does not count.
 */

import { test } from "./fixtures.ts";

/** Pairs of stores, the batches of each, their rows, and the watches. */
const [PAIRS, BATCHES, ROWS, WATCHES] = [12, 30, 1000, 100];

/** Milliseconds of each batch. */
type Times = Record<"watched" | "alone", number[]>;

test("watching", async ({ storePage }) => {
  const page = await storePage();
  const pairs: Times[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    pairs.push(
      await page.evaluate(
        async ({ pair, batches, rows, watches }) => {
          const { destroy, open } = window.terrane;
          const names = ["first", "second"].map((name) => `watching-${name}-${pair}`);
          const [one, two] = [await open(names[0] ?? ""), await open(names[1] ?? "")];
          const [watched, alone] = pair % 2 === 1 ? [two, one] : [one, two];
          const prefix = (n: number) => n.toString(16).padStart(2, "0");
          let items = 0;
          const take = async (n: number) => {
            // Its end is that of the store.
            for await (const _ of watched.watch({ prefix: prefix(n) })) items++;
          };
          for (let n = 0; n < watches; n++) void take(n);
          const times: Times = { watched: [], alone: [] };
          for (let batch = 0; batch <= batches; batch++) {
            const puts = Array.from({ length: rows }, (_, i) => {
              const number = Math.imul(batch * rows + i, 0x9e3779b1) >>> 0;
              const key = number.toString(16).padStart(8, "0");
              return { type: "put" as const, key, value: key.repeat(12) };
            });
            for (const which of batch % 2 === 0
              ? (["watched", "alone"] as const)
              : (["alone", "watched"] as const)) {
              const began = performance.now();
              await (which === "watched" ? watched : alone).batch(puts);
              if (batch > 0) times[which].push(performance.now() - began);
              while (which === "watched" && items < (batch + 1) * watches) {
                await new Promise((passed) => setTimeout(passed, 1));
              }
              await new Promise((passed) => setTimeout(passed, 5));
            }
          }
          await Promise.all([one.close(), two.close()]);
          await Promise.all(names.map((name) => destroy(name)));
          return times;
        },
        { pair, batches: BATCHES, rows: ROWS, watches: WATCHES },
      ),
    );
  }
  const sum = (times: number[]) => times.reduce((sum, time) => sum + time, 0);
  const least = (of: keyof Times) =>
    sum(
      Array.from({ length: BATCHES }, (_, i) => Math.min(...pairs.map((one) => one[of][i] ?? 0))),
    );
  const [watched, alone] = [least("watched"), least("alone")];
  console.log(
    `${WATCHES} watches cost batches of ${ROWS} rows ${((watched / alone - 1) * 100).toFixed(1)} %: ` +
      `${(watched / BATCHES).toFixed(3)} ms instead of ${(alone / BATCHES).toFixed(3)} ms`,
  );
});

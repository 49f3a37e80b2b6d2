/**
 * Prints rows a second of `terrane-level` beside browser-level, on a load of many sublevels: `npm run level`. Each has
 * a new database in each round, in turns. A figure is the median of the rounds, of which `TERRANE_LEVEL_ROUNDS` is the
 * number.
 */

import { test } from "./fixtures.ts";
import { levelPages } from "./level.ts";

const ROUNDS = Number(process.env["TERRANE_LEVEL_ROUNDS"] ?? 5);
const NAMES = ["terrane-level", "browser-level"] as const;

type Rates = Record<string, number>;
type Round = Record<(typeof NAMES)[number], Rates>;

/** A function of the page, which the bundle sets. */
declare const measure: (name: string, location: string) => Promise<Rates>;

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

test("sublevels", async ({ context, origin, browserName }) => {
  const page = await levelPages(context, origin, "sublevels.js")();
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const found: Round = { "terrane-level": {}, "browser-level": {} };
    for (const name of round % 2 === 0 ? NAMES : NAMES.toReversed()) {
      found[name] = await page.evaluate(({ name, location }) => measure(name, location), {
        name,
        location: `sublevels ${round}`,
      });
    }
    rounds.push(found);
  }
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  console.log(`| ${browserName}, rows a second | ${NAMES.join(" | ")} | share |`);
  console.log("|---|---:|---:|---:|");
  for (const workload of Object.keys(rounds[0]?.["terrane-level"] ?? {})) {
    const [ours, theirs] = NAMES.map((name) =>
      median(rounds.map((of) => of[name][workload] ?? NaN)),
    );
    const cells = [ours, theirs].map((rate) => number.format(rate ?? NaN));
    const share = ((ours ?? NaN) / (theirs ?? NaN)).toFixed(2);
    console.log(`| ${workload} | ${cells.join(" | ")} | ${share} |`);
  }
});

/**
 * Compares Terrane with other stores in a browser.
 *
 * 1. A server on this machine gives out the built page; a browser opens it, with a profile on disk:
 *    without one OPFS would lie in memory and a sync do nothing.
 * 2. Each contender has a page to itself, which is in front while it runs: what one does to its page's
 *    promises, say, costs no other.
 * 3. One small run of each contender warms all up; its figures are dropped.
 * 4. A round runs every contender once from the page and once inside its worker; the order turns by
 *    one from round to round. Each run starts with an empty store and compares all that it reads.
 * 5. The report has medians over the rounds, and ratios of medians; `--json FILE` keeps all figures.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { preview } from "vite";
import { launch } from "./browsers.ts";
import { CONTENDERS, named, ROOT, USUAL } from "./contenders.ts";
import { loads, machine, type Report, type Row, text } from "./report.ts";

const PLACES = ["page", "worker"];

const { values: options } = parseArgs({
  options: {
    browser: { type: "string", default: "chromium" },
    contenders: { type: "string", default: USUAL },
    rounds: { type: "string", default: "5" },
    entries: { type: "string", default: "100000" },
    json: { type: "string" },
  },
});
const names = named(options.contenders);
const rounds = whole("rounds", options.rounds);
const scale = scaleOf(whole("entries", options.entries));

function whole(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new Error(`--${name}: expected a whole number from 1, found ${text}`);
  }
  return number;
}

/** Returns the size of each workload for a number of entries. */
function scaleOf(entries: number) {
  const part = (divisor: number) => Math.ceil(entries / divisor);
  return {
    entries,
    puts: part(20),
    gets: part(4),
    lookups: part(100),
    scans: part(50),
  };
}

const server = await preview({
  root: ROOT,
  logLevel: "silent",
  preview: { port: 0, host: "localhost" },
});
const profile = mkdtempSync(join(tmpdir(), "terrane-bench-"));
const context = await launch(options.browser, profile);
try {
  const pages = new Map<string, Page>();
  for (const name of names) {
    const page = await context.newPage();
    page.on("console", (message) => console.error(`${name}: ${message.text()}`));
    await page.goto(server.resolvedUrls!.local[0]!);
    await page.waitForFunction(() => "bench" in window);
    pages.set(name, page);
  }
  const report = await compare(pages);
  console.log(text(report));
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(report, undefined, 2));
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  await server.close();
}

async function compare(pages: Map<string, Page>): Promise<Report> {
  const before = loads();
  const agent: string = await [...pages.values()][0]!.evaluate("navigator.userAgent");
  const run = async (name: string, ...values: unknown[]): Promise<Record<string, number>> => {
    const page = pages.get(name)!;
    await page.bringToFront();
    return page.evaluate(`bench.run(${values.map((value) => JSON.stringify(value)).join(", ")})`);
  };
  for (const place of PLACES) {
    for (const name of names) await run(name, place, name, scaleOf(Math.ceil(scale.entries / 10)));
  }
  const rows = new Map<string, Row>();
  for (let round = 0; round < rounds; round++) {
    for (const place of PLACES) {
      for (let turn = 0; turn < names.length; turn++) {
        const name = names[(turn + round) % names.length]!;
        console.error(`round ${round + 1} of ${rounds}: ${name}, ${place}`);
        const speeds = await run(name, place, name, scale);
        for (const [workload, speed] of Object.entries(speeds)) {
          const key = `${place}: ${workload}`;
          const row = rows.get(key) ?? { place, workload, perSecond: {} };
          (row.perSecond[name] ??= []).push(speed);
          rows.set(key, row);
        }
      }
    }
  }
  return {
    date: new Date().toISOString(),
    browser: agent.match(/(Chrome|Firefox)\/\S+/)?.[0] ?? agent,
    machine: machine(),
    load: { before, after: loads() },
    contenders: Object.fromEntries(names.map((name) => [name, CONTENDERS[name]!])),
    rounds,
    scale,
    rows: [...rows.values()],
  };
}

/**
 * Compares Terrane with IndexedDB and with SQLite on opfs-sahpool, in Chromium.
 *
 * 1. A server on this machine gives out the built page; a browser opens it, with a profile on disk:
 *    without one OPFS would lie in memory and a sync do nothing.
 * 2. One small run of each contender warms all up; its figures are dropped.
 * 3. A round runs every contender once from the page and once inside its worker; the order turns by
 *    one from round to round. Each run begins with an empty store and compares all that it reads.
 * 4. The report has medians over the rounds, and ratios of medians; `--json FILE` keeps all figures.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium, type Page } from "playwright-core";
import { preview } from "vite";
import { loads, machine, type Report, type Row, text } from "./report.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What each contender is and how it is set. */
const CONTENDERS: Record<string, string> = {
  terrane:
    `${version("terrane")}, from the page its client, inside a worker terrane/worker; ` +
    'durability "buffered", binary keys and values, 16 MiB of cache',
  indexeddb: 'durability "relaxed", explicit commit, out-of-line binary keys',
  sqlite:
    `${version("@sqlite.org/sqlite-wasm")}, opfs-sahpool, from the page behind a thin message ` +
    "layer; locking_mode EXCLUSIVE, WAL, synchronous NORMAL, WITHOUT ROWID with a BLOB key, " +
    "prepared statements, 16 MiB of cache",
};
const NAMES = Object.keys(CONTENDERS);
const PLACES = ["page", "worker"];

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    entries: { type: "string", default: "100000" },
    json: { type: "string" },
  },
});
const rounds = whole("rounds", options.rounds);
const scale = scaleOf(whole("entries", options.entries));

function whole(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new Error(`--${name}: expected a whole number from 1, found ${text}`);
  }
  return number;
}

/** How much of each workload goes with so many entries. */
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
const system = [process.env["TERRANE_CHROMIUM"], "/usr/bin/chromium"];
const executablePath = system.find((path) => path !== undefined && existsSync(path));
const context = await chromium.launchPersistentContext(profile, {
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
  ...(executablePath && { executablePath }),
});
try {
  const page = await context.newPage();
  page.on("console", (message) => console.error(message.text()));
  await page.goto(server.resolvedUrls!.local[0]!);
  await page.waitForFunction(() => "bench" in window);
  const report = await compare(page);
  console.log(text(report));
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(report, undefined, 2));
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
  await server.close();
}

async function compare(page: Page): Promise<Report> {
  const before = loads();
  const agent = (await page.evaluate("navigator.userAgent")) as string;
  for (const place of PLACES) {
    for (const name of NAMES) await call(page, "run", place, name, scaleOf(scale.entries / 10));
  }
  const rows = new Map<string, Row>();
  for (let round = 0; round < rounds; round++) {
    for (const place of PLACES) {
      for (let turn = 0; turn < NAMES.length; turn++) {
        const name = NAMES[(turn + round) % NAMES.length]!;
        console.error(`round ${round + 1} of ${rounds}: ${name}, ${place}`);
        const speeds = await call<Record<string, number>>(page, "run", place, name, scale);
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
    browser: agent.match(/Chrome\/\S+/)?.[0] ?? agent,
    machine: machine(),
    load: { before, after: loads() },
    contenders: CONTENDERS,
    rounds,
    scale,
    rows: [...rows.values()],
  };
}

/** The version of a package, as its own manifest says. */
function version(name: string): string {
  const manifest = join(ROOT, "node_modules", name, "package.json");
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

/** Calls one of the functions that the page has on its window. */
function call<T>(page: Page, name: string, ...values: unknown[]): Promise<T> {
  const list = values.map((value) => JSON.stringify(value)).join(", ");
  return page.evaluate<T>(`bench.${name}(${list})`);
}

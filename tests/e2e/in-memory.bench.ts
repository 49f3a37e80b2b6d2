/**
 * Prints what WebAssembly costs: the engine in a worker of Chromium, beside the same engine natively, which this
 * builds. Both have a store in memory, the browser's options and one thread: `npm run in-memory`.
 *
 * 1. `native`: the calls of the engine that `crates/wasm` makes, by bench/benches/in_memory.rs.
 * 2. `module`: the WebAssembly module alone, with keys and values encoded beforehand. Results are read in its memory,
 *    as `terrane/worker` does.
 * 3. `package`: `terrane/worker`, as callers use it. The ratio includes the cost of keys and values as JavaScript
 *    objects.
 *
 * They take turns, round by round, each with a new store. The workload is in pages/in-memory.js. Its first quarter
 * is not counted: until then functions are compiled. All must return the same.
 */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, openStorePage, type Page, test } from "./fixtures.ts";

const ROUNDS = 5;
const root = fileURLToPath(new URL("../..", import.meta.url));

/** By kind of operation: microseconds of one, and the sum of what all returned. */
type Report = Record<string, [micros: number, sum: number]>;

function native(...more: string[]): string {
  const command = ["bench", "--quiet", "-p", "terrane-bench", "--bench", "in_memory", ...more];
  const output = execFileSync("cargo", command, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  return output.toString();
}

function inWorker(page: Page, way: string): Promise<Report> {
  return page.evaluate(async (way) => {
    const worker = new Worker("in-memory.js", { type: "module" });
    const report = await new Promise<Report | string>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage(way);
    });
    worker.terminate();
    if (typeof report === "string") throw new Error(report);
    return report;
  }, way);
}

test("the engine in memory, natively and in a browser", async ({ context, origin }) => {
  test.setTimeout(60 * 60_000);
  native("--no-run");
  const page = await openStorePage(context, origin);
  const measures: Record<string, () => Promise<Report>> = {
    native: async () => JSON.parse(native()),
    module: () => inWorker(page, "module"),
    package: () => inWorker(page, "package"),
  };
  const ways = Object.keys(measures);
  const reports: Record<string, Report[]> = Object.fromEntries(ways.map((way) => [way, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const way of round % 2 === 0 ? ways : [...ways].reverse()) {
      reports[way]!.push(await measures[way]!());
    }
  }
  const [first] = reports["native"]!;
  const returned = (report: Report) => Object.entries(report).map(([name, [, sum]]) => [name, sum]);
  for (const all of Object.values(reports)) {
    for (const report of all) expect(returned(report)).toEqual(returned(first!));
  }
  console.log("| microseconds | native | module | / native | package | / native |");
  console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
  for (const name of Object.keys(first!)) {
    const [native, module, whole] = ways.map((way) => {
      const micros = reports[way]!.map((report) => report[name]![0]).sort((a, b) => a - b);
      return micros[ROUNDS >> 1]!;
    }) as [number, number, number];
    const cells = [module, whole].map((way) => `${way.toFixed(2)} | ${(way / native).toFixed(2)}x`);
    console.log(`| ${name} | ${native.toFixed(2)} | ${cells.join(" | ")} |`);
  }
});

/** Iterations over pages: a row that is there needs no message, and calls have the outcomes of a generator's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./source.js";

const { iterate } = await load("client/scan.ts");

/** A row that cannot be decoded. */
const BROKEN = "broken";

function* decode(rows) {
  for (const row of rows) {
    if (row === BROKEN) throw new TypeError("a row that cannot be decoded");
    yield row;
  }
}

/** The iteration of a scan with these pages, and what became of the scan. */
function scanOf(pages, decodeRows = decode) {
  const scan = { calls: [], ends: [] };
  let sent = 0;
  const caller = {
    hold: () => ({
      release: () => scan.ends.push("released"),
      forget: () => scan.ends.push("forgotten"),
    }),
    call: async ({ op }) => {
      scan.calls.push(op);
      if (op === "scan") return undefined;
      return { bytes: pages[sent++], done: sent === pages.length };
    },
  };
  const projection = { keys: true, values: true, decode: decodeRows };
  return { scan, rows: iterate(caller, {}, projection, (start) => start()) };
}

/** Yields the rows of these pages, as an iteration must. */
async function* plain(pages) {
  for (const page of pages) for (const row of decode(page)) yield row;
}

/** Makes each of these calls, waiting for it where its name ends with a dot; returns their outcomes. */
async function outcomes(iteration, calls) {
  const outcomes = [];
  for (const call of calls) {
    const result = iteration[call.replace(".", "")]("given").then(
      ({ done, value }) => ({ done, value }),
      (error) => `${call}: ${error}`,
    );
    outcomes.push(result);
    if (call.endsWith(".")) await result;
  }
  return Promise.all(outcomes);
}

test("the first page is requested with the scan, the next one when it arrives", async () => {
  const { scan, rows } = scanOf([[1, 2], [3], [4]]);
  assert.deepEqual(scan.calls, ["scan", "page"]);
  assert.deepEqual(await rows.next(), { done: false, value: 1 });
  assert.deepEqual(scan.calls, ["scan", "page", "page"]);
  const rest = [];
  for await (const row of rows) rest.push(row);
  assert.deepEqual(rest, [2, 3, 4]);
  assert.deepEqual(scan, { calls: ["scan", "page", "page", "page"], ends: ["forgotten"] });
});

test("rows and ends of all mixes of calls are those of a generator", async () => {
  const kinds = ["next", "next.", "next", "next.", "next", "next.", "return", "return.", "throw."];
  let seed = 1;
  const below = (n) => (seed = (seed * 48271) % 0x7fffffff) % n;
  for (let round = 0; round < 2000; round++) {
    const row = () => (below(30) === 0 ? BROKEN : below(100));
    const page = () => Array.from({ length: below(5) }, row);
    const pages = Array.from({ length: 1 + below(4) }, page);
    const calls = Array.from({ length: 1 + below(16) }, () => kinds[below(kinds.length)]);
    const { scan, rows } = scanOf(pages);
    const found = await outcomes(rows, calls);
    const what = JSON.stringify({ pages, calls });
    // A scan has started before its first step, so that only what ends it then may differ.
    if (calls[0].startsWith("next")) {
      assert.deepEqual(found, await outcomes(plain(pages), calls), what);
    }
    assert.ok(scan.ends.length <= 1, what);
    if (found.some(({ done }) => done !== false)) assert.equal(scan.ends.length, 1, what);
  }
});

test("an iteration that is returned before its first row releases its scan", async () => {
  const { scan, rows } = scanOf([[1]]);
  assert.deepEqual(await outcomes(rows, ["return", "next"]), [
    { done: true, value: "given" },
    { done: true, value: undefined },
  ]);
  assert.deepEqual(scan.ends, ["released"]);
});

test("rows that an encoding decodes asynchronously are awaited, each of them", async () => {
  const pages = [[1, 2, 3], [4, 5], [6]];
  const { rows } = scanOf(pages, (page) => page.map(async (row) => row));
  const found = [];
  for await (const row of rows) found.push(row);
  assert.deepEqual(found, pages.flat());
  const fails = (page) => page.map((row) => (row === 2 ? Promise.reject(new Error("two")) : row));
  const { scan, rows: failing } = scanOf(pages, fails);
  assert.deepEqual(await outcomes(failing, ["next.", "next.", "next."]), [
    { done: false, value: 1 },
    "next.: Error: two",
    { done: true, value: undefined },
  ]);
  assert.deepEqual(scan.ends, ["released"]);
});

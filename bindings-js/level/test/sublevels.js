/** A load of many sublevels on one database in a page, measured in rows a second. */

import { BrowserLevel } from "browser-level";
import { TerraneLevel } from "../browser.js";

const DATABASES = { "terrane-level": TerraneLevel, "browser-level": BrowserLevel };

/** Sublevels, the rows of each, and the rows of a batch and of a short read. */
const [SUBLEVELS, ROWS, MANY] = [50, 1000, 100];

const keyOf = (number) => String(number).padStart(8, "0");
const valueOf = (number) => ({ id: number, name: `name of ${number}`, tags: ["a", "b", "c"] });

/** Sublevels in an order that jumps, each with its number. */
function* jumping(sublevels, times) {
  for (let n = 0; n < times; n++) yield [sublevels[(n * 17) % SUBLEVELS], n];
}

/** Workloads; each returns its number of rows. */
const WORKLOADS = {
  async "batch of 100 in a sublevel"(db, sublevels) {
    for (let from = 0; from < ROWS; from += MANY) {
      for (const sublevel of sublevels) {
        const batch = Array.from({ length: MANY }, (_, at) => {
          return { type: "put", key: keyOf(from + at), value: valueOf(from + at) };
        });
        await sublevel.batch(batch);
      }
    }
    return SUBLEVELS * ROWS;
  },
  async "batch of 100 over sublevels"(db, sublevels) {
    for (let round = 0; round < ROWS / MANY; round++) {
      for (let at = 0; at < SUBLEVELS; at++) {
        const batch = Array.from({ length: MANY }, (_, n) => {
          const sublevel = sublevels[(at + n) % SUBLEVELS];
          return { type: "put", sublevel, key: keyOf(round * MANY + n), value: valueOf(n) };
        });
        await db.batch(batch);
      }
    }
    return SUBLEVELS * ROWS;
  },
  async put(db, sublevels) {
    const times = 1000;
    for (const [sublevel, n] of jumping(sublevels, times)) {
      await sublevel.put(keyOf(n % ROWS), valueOf(n));
    }
    return times;
  },
  async get(db, sublevels) {
    const times = 2000;
    for (const [sublevel, n] of jumping(sublevels, times)) {
      const { tags } = await sublevel.get(keyOf(n % ROWS));
      if (tags.length !== 3) throw new Error(`expected a row, found ${tags}`);
    }
    return times;
  },
  async "getMany of 100"(db, sublevels) {
    const times = 100;
    for (const [sublevel, n] of jumping(sublevels, times)) {
      const keys = Array.from({ length: MANY }, (_, at) => keyOf((n + at * 7) % ROWS));
      check(await sublevel.getMany(keys), MANY);
    }
    return times * MANY;
  },
  async "iterator of 100, all"(db, sublevels) {
    const times = 200;
    for (const [sublevel, n] of jumping(sublevels, times)) {
      const gte = keyOf((n * 31) % (ROWS - MANY));
      check(await sublevel.iterator({ gte, limit: MANY }).all(), MANY);
    }
    return times * MANY;
  },
  async "iterator of 100, for await"(db, sublevels) {
    const times = 100;
    for (const [sublevel, n] of jumping(sublevels, times)) {
      const gte = keyOf((n * 31) % (ROWS - MANY));
      const rows = [];
      for await (const row of sublevel.iterator({ gte, limit: MANY })) rows.push(row);
      check(rows, MANY);
    }
    return times * MANY;
  },
  async "iterator of 100, reverse"(db, sublevels) {
    const times = 100;
    for (const [sublevel] of jumping(sublevels, times)) {
      check(await sublevel.iterator({ reverse: true, limit: MANY }).all(), MANY);
    }
    return times * MANY;
  },
  async "iterator of a sublevel, all"(db, sublevels) {
    for (const sublevel of sublevels) check(await sublevel.iterator().all(), ROWS);
    return SUBLEVELS * ROWS;
  },
  async "iterator of a sublevel, for await"(db, sublevels) {
    for (const sublevel of sublevels) {
      const rows = [];
      for await (const row of sublevel.iterator()) rows.push(row);
      check(rows, ROWS);
    }
    return SUBLEVELS * ROWS;
  },
};

function check(rows, expected) {
  const { length } = rows.filter((row) => row !== undefined);
  if (length !== expected) throw new Error(`expected ${expected} rows, found ${length}`);
}

/** Runs all workloads on a new database; returns the rows a second of each by name. */
export async function measure(name, location) {
  const Database = DATABASES[name];
  const db = new Database(location);
  await db.open();
  const sublevels = Array.from({ length: SUBLEVELS }, (_, n) =>
    db.sublevel(`sublevel-${n}`, { valueEncoding: "json" }),
  );
  const rates = {};
  for (const [workload, run] of Object.entries(WORKLOADS)) {
    const began = performance.now();
    const rows = await run(db, sublevels);
    rates[workload] = rows / ((performance.now() - began) / 1000);
  }
  await db.close();
  await Database.destroy(location);
  return rates;
}

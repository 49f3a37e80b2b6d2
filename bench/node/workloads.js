/**
 * Workloads, which run one after the other on one store. A figure is a number of operations a second, by the
 * clock and by the processor's time.
 */

import assert from "node:assert/strict";

/** The rows of a batch, and the keys or rows of a read of several. */
const BATCH = 1000;
const MANY = 100;
/** Half of a value's bytes are random, the rest zeros. */
const VALUE_BYTES = 100;
/** Gets that are in flight at once. */
const AT_ONCE = 100;

/** A generator of numbers below 2^32, the same for all stores. */
function xorshift(seed) {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** Rows by number, with evenly spread keys; rows with odd numbers are missing. */
class Rows {
  constructor(count, seed) {
    this.count = count;
    this.next = xorshift(seed);
    const bytes = new Uint8Array(VALUE_BYTES + (1 << 16));
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.next();
    this.bytes = bytes;
    this.updates = 0;
  }

  /** Returns the key of a row. Multiplication by an odd factor permutes the numbers of 32 bits. */
  key(number) {
    const spread = Math.imul(number, 0x9e3779b1) >>> 0;
    return `${spread.toString(16).padStart(8, "0")}${number.toString(16).padStart(8, "0")}`;
  }

  value(number) {
    const value = new Uint8Array(VALUE_BYTES);
    const at = number & 0xffff;
    value.set(this.bytes.subarray(at, at + VALUE_BYTES / 2));
    return value;
  }

  /** Returns a value that the row has not had: SQLite writes nothing where a row stays as it is. */
  newValue(number) {
    const value = this.value(number);
    new DataView(value.buffer).setUint32(VALUE_BYTES / 2 - 4, ++this.updates);
    return value;
  }

  /** Returns the number of a row that exists. */
  any() {
    return 2 * (this.next() % this.count);
  }
}

const checkValue = (value, number, rows) => {
  assert.equal(value?.length, VALUE_BYTES);
  assert.equal(value[0], rows.bytes[number & 0xffff]);
};

/** Workloads, each of `count` operations on a store; absent where the store lacks the call. */
const WORKLOADS = {
  "load, batches of 1000": {
    needs: "batch",
    share: 1,
    async run(store, rows, count) {
      for (let from = 0; from < count; from += BATCH) {
        const size = Math.min(BATCH, count - from);
        const batch = Array.from({ length: size }, (_, at) => {
          const number = 2 * (from + at);
          return [rows.key(number), rows.value(number)];
        });
        await store.batch(batch);
      }
    },
  },
  "put, buffered": {
    needs: "put",
    share: 0.05,
    async run(store, rows, count) {
      for (let at = 0; at < count; at++) {
        const number = rows.any();
        await store.put(rows.key(number), rows.newValue(number));
      }
    },
  },
  "put, buffered, 100 at once": {
    needs: "put",
    share: 0.1,
    async run(store, rows, count) {
      for (let at = 0; at < count; at += AT_ONCE) {
        await Promise.all(
          Array.from({ length: AT_ONCE }, () => {
            const number = rows.any();
            return store.put(rows.key(number), rows.newValue(number));
          }),
        );
      }
    },
  },
  "put, durable": {
    needs: "putDurable",
    share: 0.0005,
    async run(store, rows, count) {
      for (let at = 0; at < count; at++) {
        const number = rows.any();
        await store.putDurable(rows.key(number), rows.newValue(number));
      }
    },
  },
  getSync: {
    needs: "getSync",
    share: 0.2,
    run(store, rows, count) {
      for (let at = 0; at < count; at++) {
        const number = rows.any();
        checkValue(store.getSync(rows.key(number)), number, rows);
      }
    },
  },
  "getSync, missing": {
    needs: "getSync",
    share: 0.2,
    run(store, rows, count) {
      for (let at = 0; at < count; at++)
        assert.ok(store.getSync(rows.key(rows.any() + 1)) === undefined);
    },
  },
  "get, awaited": {
    needs: "get",
    share: 0.05,
    async run(store, rows, count) {
      for (let at = 0; at < count; at++) {
        const number = rows.any();
        checkValue(await store.get(rows.key(number)), number, rows);
      }
    },
  },
  "get, 100 at once": {
    needs: "get",
    share: 0.2,
    async run(store, rows, count) {
      for (let at = 0; at < count; at += AT_ONCE) {
        const numbers = Array.from({ length: AT_ONCE }, () => rows.any());
        const values = await Promise.all(numbers.map((number) => store.get(rows.key(number))));
        values.forEach((value, at) => checkValue(value, numbers[at], rows));
      }
    },
  },
  "getMany of 100, keys": {
    needs: "getMany",
    share: 0.2,
    async run(store, rows, count) {
      for (let at = 0; at < count; at += MANY) {
        const numbers = Array.from({ length: MANY }, () => rows.any());
        const values = await store.getMany(numbers.map((number) => rows.key(number)));
        values.forEach((value, at) => checkValue(value, numbers[at], rows));
      }
    },
  },
  "scan of 100, rows": {
    needs: "scan",
    share: 1,
    async run(store, rows, count) {
      for (let at = 0; at < count; at += MANY) {
        // A scan near the end has fewer rows.
        const found = await store.scan(rows.key(rows.any()), MANY);
        assert.ok(found > 0 && found <= MANY);
      }
    },
  },
  "scan of 100 by for await, rows": {
    needs: "scanByNext",
    share: 0.3,
    async run(store, rows, count) {
      for (let at = 0; at < count; at += MANY)
        assert.ok((await store.scanByNext(rows.key(rows.any()), MANY)) > 0);
    },
  },
  "scan of all, rows": {
    needs: "scanAll",
    share: 1,
    async run(store, rows, count) {
      assert.equal(await store.scanAll(), count);
    },
  },
};

/** The names of the workloads, in the order of a run. */
export const NAMES = Object.keys(WORKLOADS);

/** Runs those workloads that `only` names on an empty store; returns their operations a second by name. */
export async function measure(store, count, seed, only) {
  const rows = new Rows(count, seed);
  const figures = {};
  for (const [name, { needs, share, run }] of Object.entries(WORKLOADS)) {
    const isLoad = needs === "batch";
    if (store[needs] === undefined || !(isLoad || only.some((part) => name.includes(part))))
      continue;
    const operations = Math.max(Math.round(count * share), MANY);
    const [start, before] = [performance.now(), process.cpuUsage()];
    await run(store, rows, operations);
    const seconds = (performance.now() - start) / 1000;
    const { user, system } = process.cpuUsage(before);
    figures[name] = {
      wall: operations / seconds,
      // The processor's time is that of all threads, also those that compact.
      cpu: operations / ((user + system) / 1e6),
    };
  }
  return figures;
}

/**
 * The worker of in-memory.bench.ts: the workload of bench/benches/in_memory.rs, line by line. A message names one of
 * two ways to take, and it posts what the native program prints: for each kind of operation its microseconds, and the
 * sum of what all of them returned.
 */

const [ROWS, PUTS, GETS, LOOKUPS, SCANS] = [100_000, 40_000, 200_000, 2_000, 10_000];
const [BATCH, TOGETHER, KEY_BYTES, VALUE_BYTES] = [1000, 100, 16, 100];

/** The words of a list of 100 values before the first one; see crates/wasm/src/codec.rs. */
const LIST_HEAD = 1 + TOGETHER;
const VALUE_WORDS = VALUE_BYTES / 4;

const word = (bytes, at = 0) =>
  (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;

const ways = {
  /** As callers use the package: keys and values are objects of JavaScript. */
  async package() {
    const { open } = await import("../terrane/dist/sync.js");
    const binary = { keyEncoding: "binary", valueEncoding: "binary" };
    const db = await open("rows", { storage: "memory", ...binary });
    const toPut = ([key, value]) => ({ type: "put", key, value });
    return {
      batchOf: (rows) => rows.map(toPut),
      batch: (operations) => db.batch(operations),
      putOf: (row) => row,
      put: ([key, value]) => db.put(key, value),
      get(key) {
        const value = db.get(key);
        return value === undefined ? 0 : word(value);
      },
      keysOf: (keys) => keys,
      getMany: (keys) => db.getMany(keys).reduce((sum, value) => sum + word(value), 0),
      rangeOf: (gte, lt) => ({ gte, lt }),
      scan(range) {
        let sum = 0;
        for (const [, value] of db.entries(range)) sum += word(value);
        return sum;
      },
      count: (range) => db.count(range),
      async settle() {
        db.flush();
        // Compactions run between the worker's turns.
        await new Promise((resolve) => setTimeout(resolve, 1000));
      },
    };
  },

  /** Calls of the package: keys, values and ranges are bytes, encoded beforehand and never decoded. */
  async module() {
    const glue = (await import("../terrane/wasm/glue.js")).default();
    const compiled = WebAssembly.compileStreaming(fetch("../terrane/wasm/terrane_bg.wasm"));
    const { memory } = glue.initSync({ module: await compiled });
    const store = glue.Store.open("rows", [], true, false, false);
    const keyAt = store.key_buffer(KEY_BYTES);
    let view = new Uint8Array();
    let words = new Uint32Array();
    const bytes = () => (view = view.length === 0 ? new Uint8Array(memory.buffer) : view);
    /** The words of the memory from an address on. */
    const wordsAt = (at) => {
      words = words.length === 0 ? new Uint32Array(memory.buffer) : words;
      return [words, at / 4];
    };
    const concat = (parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
    const sized = (key) => [KEY_BYTES, 0, 0, 0, ...key];
    const batchOf = (rows) =>
      concat(rows.map(([key, value]) => [1, 0, KEY_BYTES, ...key, VALUE_BYTES, ...value]));
    const sumList = ([words, start], head) => {
      let [sum, first] = [0, start + head];
      for (let n = 0; n < TOGETHER; n++) sum += words[first + VALUE_WORDS * n];
      return sum;
    };
    const scanning = (range, body) => {
      const scan = store.scan(0, 0, range, false, Infinity);
      const result = body(scan);
      scan.free();
      return result;
    };
    return {
      batchOf,
      batch: (batch) => store.write(batch),
      putOf: (row) => batchOf([row]),
      put: (batch) => store.write(batch),
      get(key) {
        const view = bytes();
        for (let at = 0; at < KEY_BYTES; at++) view[keyAt + at] = key[at];
        const found = store.get(0, 0, KEY_BYTES);
        return found === 0 ? 0 : word(bytes(), found + 4);
      },
      keysOf: (keys) => concat(keys.map(sized)),
      getMany: (keys) => sumList(wordsAt(store.get_many_in_place(0, 0, keys)), LIST_HEAD),
      rangeOf: (from, to) => concat([[1], sized(from), [2], sized(to)]),
      scan(range) {
        const keys = LIST_HEAD + (TOGETHER * KEY_BYTES) / 4;
        return scanning(range, (scan) => {
          const page = scan.page_in_place(16 << 10, true, true);
          return sumList(wordsAt(page), keys + LIST_HEAD);
        });
      },
      count: (range) => scanning(range, (scan) => scan.count(0xffff_ffff)),
      settle() {
        const steps = store.flush();
        while (steps.step() === undefined);
        steps.free();
        while (store.run_jobs(256 << 10));
      },
    };
  },
};

/** A stream of 32-bit numbers (splitmix32). */
class Random {
  #state = 1;

  next() {
    this.#state = (this.#state + 0x9e37_79b9) | 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0_aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a_2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }

  below(bound) {
    return this.next() % bound;
  }

  key() {
    const digits = () => this.next().toString(16).padStart(8, "0");
    return digits() + digits();
  }

  value() {
    const value = new Uint8Array(VALUE_BYTES);
    const words = new Uint32Array(value.buffer);
    for (let n = 0; n < 12; n++) words[n] = this.next();
    return value;
  }
}

const times = (count, make) => Array.from({ length: count }, make);
const chunks = (items, size) =>
  times(items.length / size, (_, n) => items.slice(n * size, (n + 1) * size));

async function run(store) {
  const [random, encoder, report] = [new Random(), new TextEncoder(), {}];
  const time = (name, operations, perform) => {
    const warmUp = Math.floor(operations.length / 4);
    let [sum, began] = [0, performance.now()];
    for (let n = 0; n < operations.length; n++) {
      if (n === warmUp) began = performance.now();
      sum = (sum + perform(operations[n])) >>> 0;
    }
    const micros = (1000 * (performance.now() - began)) / (operations.length - warmUp);
    report[name] = [micros, sum];
  };
  const loaded = times(ROWS, () => [random.key(), random.value()]);
  const keys = loaded.map(([key]) => key).sort();
  const encoded = new Map(keys.map((key) => [key, encoder.encode(key)]));
  const ranks = keys.map((key) => encoded.get(key));
  const rows = loaded.map(([key, value]) => [encoded.get(key), value]);

  time("batches of 1000 puts", chunks(rows, BATCH).map(store.batchOf), store.batch);
  await store.settle();
  const puts = times(PUTS, () => [ranks[random.below(ROWS)], random.value()]);
  time("puts", puts.map(store.putOf), store.put);
  await store.settle();
  const gets = times(GETS, () => ranks[random.below(ROWS)]);
  time("gets", gets, store.get);
  const missing = gets.map((key) => key.with(15, "~".charCodeAt(0)));
  time("gets of missing keys", missing, store.get);
  const lookups = times(LOOKUPS * TOGETHER, () => ranks[random.below(ROWS)]);
  time("100 gets together", chunks(lookups, TOGETHER).map(store.keysOf), store.getMany);
  const starts = times(SCANS, () => random.below(ROWS - TOGETHER));
  const ranges = starts.map((from) => store.rangeOf(ranks[from], ranks[from + TOGETHER]));
  time("scans of 100", ranges, store.scan);
  time("counts of 100", ranges, store.count);
  return report;
}

onmessage = async ({ data }) => {
  postMessage(await run(await ways[data]()).catch((error) => String(error.stack ?? error)));
};

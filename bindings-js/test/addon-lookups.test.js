/** Lookups of single keys by the addon, with a stub for it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./source.js";

const { Lookups } = await load("node/lookups.ts");

/** Returns an engine that has one value for all keys and counts its gets. */
function engine(value) {
  let memory = new Uint8Array(64);
  const counts = { gets: 0 };
  const store = {
    get(_keyspace, _snapshot, into) {
      counts.gets += 1;
      if (value.length <= into.length) into.set(value);
      return value.length;
    },
    take: (into) => into.set(value),
  };
  const module = {
    memory: (bytes = 0) => (bytes <= memory.length ? memory : (memory = new Uint8Array(bytes))),
  };
  return { counts, module, call: (body) => body(store) };
}

test("a value that is not text is looked up once", () => {
  for (const length of [1, 300]) {
    const value = new Uint8Array(length).fill(0xff);
    const found = engine(value);
    assert.deepEqual(new Lookups(found).find(0, 0, "key", true), value);
    assert.equal(found.counts.gets, 1);
  }
});

test("text and bytes are found in copies of their own", () => {
  const value = new TextEncoder().encode("schl\u00fcssel");
  const lookups = new Lookups(engine(value));
  assert.equal(lookups.find(0, 0, "key", true), "schl\u00fcssel");
  const bytes = lookups.find(0, 0, "key", false);
  lookups.find(0, 0, "another key", false);
  assert.deepEqual(bytes, value);
});

/** The names of stores, with a stub of the private file system. */

import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
const { exists, stores } = await import("../dist/index.js");

const missing = () => {
  throw new DOMException("none", "NotFoundError");
};
const directory = (entries) => ({
  getDirectoryHandle: async (name) => entries[name] ?? missing(),
  getFileHandle: async (name) => entries[name] ?? missing(),
  async *keys() {
    yield* Object.keys(entries);
  },
});

test("stores are listed by name, without what is no store", async () => {
  const store = directory({ journal: {}, log: {}, data: {} });
  const importing = directory({ journal: {}, log: {}, data: {}, import: {} });
  const root = directory({ notes: store, empty: directory({}), importing, "a b": store });
  navigator.storage.getDirectory = async () => directory({ terrane: root });
  assert.deepEqual(await stores(), ["a b", "notes"]);
  assert.equal(await exists("notes"), true);
  for (const name of ["importing", "empty", "none"]) assert.equal(await exists(name), false, name);
  await assert.rejects(exists("a/b"), { code: "invalid-argument" });
});

test("an origin without stores has none", async () => {
  navigator.storage.getDirectory = async () => directory({});
  assert.deepEqual(await stores(), []);
  assert.equal(await exists("notes"), false);
});

test("where there is no origin, neither is known", async () => {
  Object.defineProperty(globalThis, "origin", { value: "null", configurable: true });
  await assert.rejects(stores(), { code: "unavailable", message: /no origin/ });
  await assert.rejects(exists("notes"), { code: "unavailable" });
  delete globalThis.origin;
});

/** Lookups in a module whose memory threads share, which text is neither decoded from nor encoded into. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./source.js";

/** As browsers do: Node's decoder takes shared memory. */
globalThis.TextDecoder = class extends TextDecoder {
  decode(bytes) {
    if (!(bytes.buffer instanceof ArrayBuffer)) throw new TypeError("expected no shared memory");
    return super.decode(bytes);
  }
};
const { Lookups } = await load("engine/lookups.ts");

/** The addresses of keys and of values. */
const KEY = 16;
const VALUE = 4096;

/** An engine with one value for any key; `keys` are the keys that were looked up. */
function engine(value) {
  const memory = new Uint8Array(new SharedArrayBuffer(16384));
  const keys = [];
  const store = {
    key_buffer: () => KEY,
    get(_keyspace, _snapshot, length) {
      keys.push(
        new TextDecoder("utf-8", { ignoreBOM: true }).decode(memory.slice(KEY, KEY + length)),
      );
      new DataView(memory.buffer).setUint32(VALUE, value.length, true);
      memory.set(value, VALUE + 4);
      return VALUE;
    },
  };
  return { keys, module: { memory: () => memory }, call: (body) => body(store) };
}

test("text in shared memory is read and written", () => {
  for (const text of ["", "plain", "\ufeffschl\u00fcssel", "\u{1f600}\0", "\u9375".repeat(300)]) {
    const shared = engine(new TextEncoder().encode(text));
    const lookups = new Lookups(shared);
    assert.equal(lookups.find(0, 0, text, true), text);
    const bytes = lookups.find(0, 0, text, false);
    assert.deepEqual(bytes, new TextEncoder().encode(text));
    assert.ok(bytes.buffer instanceof ArrayBuffer);
    assert.deepEqual(shared.keys, [text, text]);
  }
});

test("bytes in shared memory that are not text stay as they are", () => {
  for (const bytes of [[0xff], [0xc3, 0x28], new Array(300).fill(0x80)].map((list) =>
    Uint8Array.from(list),
  )) {
    const found = new Lookups(engine(bytes)).find(0, 0, "key", true);
    assert.deepEqual(found, bytes);
    assert.ok(found.buffer instanceof ArrayBuffer);
  }
});

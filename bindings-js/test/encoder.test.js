import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./source.js";

const { decode, Encoder, InvalidArgumentError, MAX_KEY_BYTES } = await load(
  "api/data.ts",
  "api/errors.ts",
  "codec/bytes.ts",
  "codec/encoder.ts",
);

const text = (bytes) => decode(bytes, "utf8");

/** Decodes byte strings. */
function decodeAll(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strings = [];
  for (let at = 0; at < bytes.length; at += 4 + strings.at(-1).length) {
    strings.push(bytes.subarray(at + 4, at + 4 + view.getUint32(at, true)));
  }
  return strings;
}

test("keys of every kind survive encoding", () => {
  const encoder = new Encoder();
  const keys = ["", "a", "é", "日本語", "🙂", "x".repeat(5000)];
  for (const key of keys) encoder.key(key);
  encoder.key(new Uint8Array([0, 255]));
  const strings = decodeAll(encoder.bytes());
  assert.deepEqual(strings.slice(0, -1).map(text), keys);
  assert.deepEqual([...strings.at(-1)], [0, 255]);
});

test("a view into a larger buffer encodes only what it shows", () => {
  const encoder = new Encoder();
  encoder.key(new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
  assert.deepEqual([...decodeAll(encoder.bytes())[0]], [2, 3]);
});

test("only UTF-8 decodes to text, and a byte order mark is kept", () => {
  assert.throws(() => decode(new Uint8Array([0xff]), "utf8"), InvalidArgumentError);
  assert.equal(decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]), "utf8"), "\ufeffa");
});

test("the limit counts bytes, not characters", () => {
  const encoder = new Encoder();
  encoder.key("é".repeat(MAX_KEY_BYTES >> 1));
  assert.throws(() => encoder.key("é".repeat((MAX_KEY_BYTES >> 1) + 1)), InvalidArgumentError);
});

test("other types are rejected, and the error names them", () => {
  const encoder = new Encoder();
  for (const [bad, name] of [
    [1, "1"],
    [null, "null"],
    [undefined, "undefined"],
    [[1], "Array"],
    [new SharedArrayBuffer(1), "SharedArrayBuffer"],
  ]) {
    assert.throws(() => encoder.put(0, "k", bad), new RegExp(`found ${name}$`));
  }
});

test("operations are encoded as in the WAL, whatever their lengths", () => {
  const varint = (bytes, at) => {
    let value = 0;
    for (let shift = 0; ; shift += 7, at += 1) {
      value += (bytes[at] & 0x7f) * 2 ** shift;
      if (bytes[at] < 0x80) return [value, at + 1];
    }
  };
  // With several bytes per character, a length may take more bytes than the character count.
  for (const value of [
    "",
    "a",
    "a".repeat(200),
    "é".repeat(64),
    "é".repeat(127),
    "日".repeat(9000),
  ]) {
    for (const content of [value, new TextEncoder().encode(value)]) {
      const encoder = new Encoder();
      encoder.delete(300, "gone");
      const before = encoder.length;
      encoder.put(5, value.slice(0, 100), content);
      encoder.put(0, "", "");
      const bytes = encoder.bytes();
      assert.deepEqual([...bytes.subarray(0, before)], [0, 0xac, 2, 4, 103, 111, 110, 101]);
      assert.deepEqual([...bytes.subarray(before, before + 2)], [1, 5]);
      const [keyLength, key] = varint(bytes, before + 2);
      assert.equal(text(bytes.subarray(key, key + keyLength)), value.slice(0, 100));
      const [length, start] = varint(bytes, key + keyLength);
      assert.equal(text(bytes.subarray(start, start + length)), value);
      assert.deepEqual([...bytes.subarray(start + length)], [1, 0, 0, 0]);
    }
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidArgumentError } from "../dist/errors.js";
import { decode, MAX_KEY_BYTES, Packer, unpack } from "../dist/packing.js";

const text = (bytes) => bytes && decode(bytes, "utf8");

test("keys of every kind come back from their packed form", () => {
  const packer = new Packer();
  const keys = ["", "a", "é", "日本語", "🙂", "x".repeat(5000)];
  for (const key of keys) packer.key(key);
  packer.key(new Uint8Array([0, 255]));
  const strings = unpack(packer.bytes());
  assert.deepEqual(strings.slice(0, -1).map(text), keys);
  assert.deepEqual([...strings.at(-1)], [0, 255]);
});

test("a view into a larger buffer is packed as what it shows", () => {
  const packer = new Packer();
  packer.key(new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
  assert.deepEqual([...unpack(packer.bytes())[0]], [2, 3]);
});

test("a missing value is not an empty one", () => {
  const packed = new Uint8Array([0, 0, 0, 0, 255, 255, 255, 255]);
  const [empty, missing] = unpack(packed);
  assert.equal(empty.length, 0);
  assert.equal(missing, undefined);
});

test("decoded bytes are a copy: keeping one value does not keep its page", () => {
  const page = new Uint8Array(1000);
  const value = decode(page.subarray(10, 20), "binary");
  assert.equal(value.buffer.byteLength, 10);
});

test("bytes that are not UTF-8 are refused as text, and a byte order mark is kept", () => {
  assert.throws(() => decode(new Uint8Array([0xff]), "utf8"), InvalidArgumentError);
  assert.equal(decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]), "utf8"), "\ufeffa");
});

test("the limit counts bytes, not characters", () => {
  const packer = new Packer();
  packer.key("é".repeat(MAX_KEY_BYTES >> 1));
  assert.throws(() => packer.key("é".repeat((MAX_KEY_BYTES >> 1) + 1)), InvalidArgumentError);
});

test("what is no bytes is refused by its type", () => {
  const packer = new Packer();
  for (const [bad, name] of [
    [1, "number"],
    [null, "null"],
    [undefined, "undefined"],
    [[1], "Array"],
    [new Uint16Array(1), "Uint16Array"],
  ]) {
    assert.throws(() => packer.put("k", bad), new RegExp(`found ${name}$`));
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./source.js";

const { ByteList, decodeList, InvalidArgumentError } = await load(
  "api/errors.ts",
  "codec/byte-list.ts",
  "codec/decode-list.ts",
);

const encoder = new TextEncoder();

/** A list as the engine encodes it, after `before` bytes; undefined is a missing string. */
function list(strings, before = 0) {
  const numbers = [strings.length, ...strings.map((bytes) => bytes?.length ?? 0xffff_ffff)];
  const head = new DataView(new ArrayBuffer(4 * numbers.length));
  numbers.forEach((number, at) => head.setUint32(4 * at, number, true));
  const parts = [new Uint8Array(before), new Uint8Array(head.buffer)];
  for (const bytes of strings) parts.push(bytes ?? new Uint8Array());
  return new Uint8Array(Buffer.concat(parts));
}

const texts = (...words) => words.map((word) => (word === undefined ? word : encoder.encode(word)));

test("texts and bytes decode, whatever is next to them", () => {
  const words = ["a", "", undefined, "z".repeat(40_000), "plain", "é", "日本語🙂", "\ufeffa"];
  for (let count = 0; count <= words.length; count++) {
    const some = words.slice(0, count);
    const strings = new ByteList(list(texts(...some)));
    assert.deepEqual(decodeList(strings, "utf8"), some);
    const decoded = decodeList(strings, "binary").map(
      (bytes) => bytes && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes),
    );
    assert.deepEqual(decoded, some);
  }
});

test("a part of a list decodes alone, and a list after another", () => {
  const first = list(texts("a", "b", "c", "d"), 3);
  const bytes = new Uint8Array(Buffer.concat([first, list(texts("e"))]));
  const strings = new ByteList(bytes, 3);
  assert.deepEqual(decodeList(strings, "utf8", 1, 3), ["b", "c"]);
  assert.deepEqual(decodeList(new ByteList(bytes, strings.end), "utf8"), ["e"]);
});

test("keeping one byte string alive keeps few others", () => {
  const strings = new ByteList(list(Array.from({ length: 1000 }, () => new Uint8Array(1000))));
  for (const bytes of decodeList(strings, "binary")) {
    assert.equal(bytes.length, 1000);
    assert.ok(bytes.buffer.byteLength <= 16 << 10);
  }
});

test("a string that is not UTF-8 fails, the others decode", () => {
  const strings = new ByteList(list([...texts("a"), new Uint8Array([0xff]), ...texts("b")]));
  assert.throws(() => decodeList(strings, "utf8"), InvalidArgumentError);
  assert.deepEqual(decodeList(strings, "utf8", 0, 1), ["a"]);
  assert.deepEqual(decodeList(strings, "utf8", 2, 3), ["b"]);
});

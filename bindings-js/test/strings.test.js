import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidArgumentError } from "../dist/errors.js";
import { Strings } from "../dist/strings.js";

const encoder = new TextEncoder();

/** A list as the engine packs it, behind `before` bytes; undefined is a string that is not there. */
function list(strings, before = 0) {
  const numbers = [strings.length, ...strings.map((bytes) => bytes?.length ?? 0xffff_ffff)];
  const head = new DataView(new ArrayBuffer(4 * numbers.length));
  numbers.forEach((number, at) => head.setUint32(4 * at, number, true));
  const parts = [new Uint8Array(before), new Uint8Array(head.buffer)];
  for (const bytes of strings) parts.push(bytes ?? new Uint8Array());
  return new Uint8Array(Buffer.concat(parts));
}

const texts = (...words) => words.map((word) => (word === undefined ? word : encoder.encode(word)));

test("texts and bytes come back, whatever their neighbours are", () => {
  const words = ["a", "", undefined, "z".repeat(40_000), "plain", "é", "日本語🙂", "\ufeffa"];
  for (let count = 0; count <= words.length; count++) {
    const some = words.slice(0, count);
    const strings = new Strings(list(texts(...some)));
    assert.deepEqual(strings.read("utf8"), some);
    const decoded = strings
      .read("binary")
      .map((bytes) => bytes && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    assert.deepEqual(decoded, some);
  }
});

test("a part of a list is read alone, and a list behind another", () => {
  const first = list(texts("a", "b", "c", "d"), 3);
  const bytes = new Uint8Array(Buffer.concat([first, list(texts("e"))]));
  const strings = new Strings(bytes, 3);
  assert.deepEqual(strings.read("utf8", 1, 3), ["b", "c"]);
  assert.deepEqual(new Strings(bytes, strings.end).read("utf8"), ["e"]);
});

test("bytes that are kept keep few of their neighbours", () => {
  const strings = new Strings(list(Array.from({ length: 1000 }, () => new Uint8Array(1000))));
  for (const bytes of strings.read("binary")) {
    assert.equal(bytes.length, 1000);
    assert.ok(bytes.buffer.byteLength <= 16 << 10);
  }
});

test("bytes that are not UTF-8 are refused as text, and nothing else is", () => {
  const strings = new Strings(list([...texts("a"), new Uint8Array([0xff]), ...texts("b")]));
  assert.throws(() => strings.read("utf8"), InvalidArgumentError);
  assert.deepEqual(strings.read("utf8", 0, 1), ["a"]);
  assert.deepEqual(strings.read("utf8", 2, 3), ["b"]);
});

/** Tuples: their bytes compare as they do, and are read back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { tuple } from "../dist/tuple.js";

/** A generator of numbers from a seed. */
function random(seed) {
  return () => {
    seed = (Math.imul(seed, 0x9e3779b1) + 0x7f4a7c15) | 0;
    const mixed = Math.imul(seed ^ (seed >>> 15), 0x85ebca6b);
    return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
  };
}

const SPECIAL = [
  0,
  1,
  -1,
  0.1,
  -0.1,
  5e-324,
  -5e-324,
  2 ** 53,
  -(2 ** 53),
  1e300,
  -1e300,
  Infinity,
  -Infinity,
];
const TEXTS = ["", "a", "b", "\0", "\0a", "a\0", "é", "\uffff", "🙂", "\ud7ff"];

function element(next, depth = 0) {
  const pick = (list) => list[Math.floor(next() * list.length)];
  const text = () => Array.from({ length: Math.floor(next() * 3) }, () => pick(TEXTS)).join("");
  switch (Math.floor(next() * (depth < 3 ? 8 : 7))) {
    case 0:
      return null;
    case 1:
      return false;
    case 2:
      return true;
    case 3:
      return next() < 0.5 ? pick(SPECIAL) : (next() - 0.5) * 10 ** Math.floor(next() * 20);
    case 4:
      return new Date(Math.floor((next() - 0.5) * 1e13));
    case 5:
      return text();
    case 6:
      return Uint8Array.from({ length: Math.floor(next() * 4) }, () =>
        pick([0, 1, 7, 127, 254, 255]),
      );
    default:
      return elements(next, depth + 1);
  }
}

const elements = (next, depth) =>
  Array.from({ length: Math.floor(next() * 4) }, () => element(next, depth));

const rank = (value) =>
  value === null
    ? 0
    : typeof value === "boolean"
      ? 1
      : typeof value === "number"
        ? 2
        : value instanceof Date
          ? 3
          : typeof value === "string"
            ? 4
            : value instanceof Uint8Array
              ? 5
              : 6;

/** The order of values, by what they are. */
function compare(a, b) {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a instanceof Uint8Array) return Buffer.compare(a, b);
  if (!Array.isArray(a)) return a < b ? -1 : Number(a > b);
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const order = compare(a[at], b[at]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

test("the order of bytes is the order of tuples", () => {
  for (let seed = 1; seed <= 5000; seed++) {
    const next = random(seed);
    const [a, b] = [elements(next), elements(next)];
    // Half of the pairs have the same start.
    if (seed % 2 === 0) b.unshift(...a.slice(0, 2));
    const order = Math.sign(Buffer.compare(tuple.encode(a), tuple.encode(b)));
    assert.equal(order, Math.sign(compare(a, b)), `seed ${seed}`);
  }
});

test("a tuple is read back from its bytes", () => {
  for (let seed = 1; seed <= 5000; seed++) {
    const value = elements(random(seed));
    assert.deepEqual(tuple.decode(tuple.encode(value)), value, `seed ${seed}`);
  }
  assert.deepEqual(tuple.decode(tuple.encode([-0])), [0]);
});

test("a tuple is the prefix of those that continue it", () => {
  const [start, longer] = [tuple.encode(["a", 1]), tuple.encode(["a", 1, null])];
  assert.deepEqual(longer.subarray(0, start.length), start);
});

test("what is no tuple is refused, in both directions", () => {
  let deep = [];
  for (let depth = 0; depth < 200; depth++) deep = [deep];
  const lone = String.fromCharCode(0xd800);
  for (const value of [
    undefined,
    "a",
    [undefined],
    [NaN],
    [1n],
    [{}],
    [lone],
    [[new Date(NaN)]],
    deep,
  ]) {
    assert.throws(() => tuple.encode(value), TypeError);
  }
  const whole = tuple.encode([1, "a", [new Date(5), Uint8Array.of(0)]]);
  const ends = [[], [1], [1, "a"]].map((value) => tuple.encode(value).length);
  for (let cut = 0; cut < whole.length; cut++) {
    const part = whole.slice(0, cut);
    if (ends.includes(cut)) assert.doesNotThrow(() => tuple.decode(part));
    else assert.throws(() => tuple.decode(part), TypeError, `cut at ${cut}`);
  }
  for (const byte of [0, 9, 255]) assert.throws(() => tuple.decode(Uint8Array.of(byte)), TypeError);
});

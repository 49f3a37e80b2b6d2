/** Keys as numbers: in the order of keys, evenly where they are text, and back. */

import { describe, expect, test } from "vitest";
import { compareKeys } from "../src/timeline/key-order.ts";
import { Characters, type KeyNumbers, keyNumbers } from "../src/layout/key-numbers.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (key: Uint8Array) => new TextDecoder().decode(key);

/** The numbers of keys of which some are known. */
function numbersOf(known: readonly Uint8Array[]): KeyNumbers {
  const characters = new Characters();
  for (const key of known) characters.note(key);
  const sorted = known.toSorted(compareKeys);
  return keyNumbers(sorted[0] ?? bytes(""), sorted.at(-1) ?? bytes(""), characters);
}

/** Returns the position of a key between the least and the greatest known ones. */
function share(known: string[]): (key: string) => number {
  const numbers = numbersOf(known.map(bytes));
  const [from = 0, to = 1] = [known[0], known.at(-1)].map((key) => numbers.of(bytes(key ?? "")));
  return (key) => (numbers.of(bytes(key)) - from) / (to - from);
}

describe("text lies as far apart as it is written", () => {
  test("decimal numbers, of which few are known", () => {
    const at = share(["row:000000", "row:419223", "row:999999"]);
    for (const number of [125_000, 250_000, 500_000, 875_000]) {
      // A place has one digit more, for keys that end there.
      expect(at(`row:${String(number).padStart(6, "0")}`)).toBeCloseTo(number / 1e6, 1);
    }
  });

  test("hexadecimal numbers", () => {
    const at = share(["00a1", "3f27", "ffff"]);
    expect(at("4000")).toBeCloseTo(1 / 4, 1);
    expect(at("c000")).toBeCloseTo(3 / 4, 1);
  });

  test("words", () => {
    const at = share(["alder", "moss", "zinnia"]);
    expect(at("moss")).toBeCloseTo(12 / 25, 1);
  });
});

test("numbers rise with keys, whatever their bytes are", () => {
  const known = ["a", "ab-7", "ab7", "b-0", "moss", "z"];
  const others = [
    "A",
    "a ",
    "aa",
    "ab",
    "ab!",
    "ab-",
    "ab-77777",
    "ab~",
    "c",
    "mossy",
    "m\u00f6",
    "zz",
    "~",
  ];
  for (const keys of [known, [...known, ...others, "\u0000"]]) {
    const numbers = numbersOf(keys.map(bytes));
    const all = [...known, ...others].map(bytes).toSorted(compareKeys);
    const values = all.map((key) => numbers.of(key));
    expect(values).toEqual(values.toSorted((a, b) => a - b));
    expect(Math.max(...values)).toBeLessThanOrEqual(1);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  }
});

test("a number's key is text where keys are, and lies there", () => {
  const numbers = numbersOf(["user/0000", "user/3141", "user/9999"].map(bytes));
  for (const at of [0.1, 0.25, 0.5, 0.75, 0.9]) {
    expect(text(numbers.key(at))).toMatch(/^user\/\d*$/);
    expect(numbers.of(numbers.key(at))).toBeCloseTo(at, 3);
  }
});

test("bytes that are no text are digits of 256", () => {
  const numbers = numbersOf([Uint8Array.of(9, 0, 0), Uint8Array.of(9, 255, 0)]);
  expect(numbers.of(Uint8Array.of(9, 128))).toBe(1 / 2);
  expect(numbers.of(Uint8Array.of(9, 64, 128))).toBe(64.5 / 256);
  expect([...numbers.key(1 / 2)].slice(0, 2)).toEqual([9, 128]);
});

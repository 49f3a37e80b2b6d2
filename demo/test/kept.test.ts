/** Settings that a chapter's address keeps: they are read again, and nonsense is not. */

import { expect, test } from "vitest";
import { chapterIn, Kept } from "../src/chapters/kept.ts";

/** Returns the settings kept of a fragment, and the reported fragments. */
function keep(fragment: string): { kept: Kept; told: string[] } {
  const told: string[] = [];
  return { kept: new Kept("levels", fragment, (fragment) => told.push(fragment)), told };
}

const RUNS = { least: 1, most: 3, step: 1 };

test("what is set comes back from the fragment", () => {
  const { kept, told } = keep("#ch=levels");
  kept.numbers("runs", [1, 1, 1], RUNS);
  kept.flags("looked", [false, false]);
  kept.texts("guess", ["", ""]);
  kept.set("runs", [3, 1, 2]);
  kept.set("looked", [false, true]);
  const guesses = ["50 %, or so", "a&b=c#d%2Ce"];
  kept.set("guess", guesses);
  expect(told.at(-1)).toBe(kept.fragment);
  const { kept: other } = keep(kept.fragment);
  expect(other.numbers("runs", [1, 1, 1], RUNS)).toEqual([3, 1, 2]);
  expect(other.flags("looked", [false, false])).toEqual([false, true]);
  expect(other.texts("guess", ["", ""])).toEqual(guesses);
});

test("a fragment has nothing of what is as usual, and is told only when it is another", () => {
  const { kept, told } = keep("#ch=levels&runs=3,3,3");
  expect(kept.numbers("runs", [1, 1, 1], RUNS)).toEqual([3, 3, 3]);
  kept.set("runs", [3, 3, 3]);
  expect(told).toEqual([]);
  kept.set("runs", [1, 1, 1]);
  expect(told).toEqual(["#ch=levels"]);
});

test.each(["3,3", "3,3,3,3", "0,1,1", "1,1,4", "1,1.5,1", "1,,1", "a,b,c", "", "1e99,1,1"])(
  "numbers that cannot be set are not taken: %s",
  (text) => {
    const { kept } = keep(`#ch=levels&runs=${text}`);
    expect(kept.numbers("runs", [1, 2, 1], RUNS)).toEqual([1, 2, 1]);
  },
);

test("a list may be as long as its field says, or empty", () => {
  const range = { least: 1, most: 5, lengths: [0, 2] } as const;
  const numbers = (text: string) => keep(`#ch=levels&at=${text}`).kept.numbers("at", [2], range);
  expect(numbers("")).toEqual([]);
  expect(numbers("2.5")).toEqual([2.5]);
  expect(numbers("1,5")).toEqual([1, 5]);
  expect(numbers("1,2,3")).toEqual([2]);
});

test("a fragment names a chapter, or leads elsewhere", () => {
  expect(chapterIn("#ch=ptier&merged=1,0,0,0")).toBe("ptier");
  expect(chapterIn("#ch=")).toBe("");
  expect(chapterIn("#v1&policy=leveled")).toBeUndefined();
});

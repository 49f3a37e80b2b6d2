/** Terms in prose: each is marked once, and only where it is meant. */

import { expect, test } from "vitest";
import { CHAPTERS } from "../src/chapters/chapters.ts";
import { explained } from "../src/views/explain.ts";

/** Terms that are marked in texts, as they are written there. */
function terms(...texts: string[]): string[] {
  const parts = explained(texts);
  expect(parts.map((one) => one.map(({ text }) => text).join(""))).toEqual(texts);
  return parts.flat().flatMap(({ text, word }) => (word === undefined ? [] : [text]));
}

test("a term is marked where it is used first, in the singular or the plural", () => {
  expect(terms("Runs of a level, and a run.", "A level has runs and Tombstones.")).toEqual([
    "Runs",
    "level",
    "Tombstones",
  ]);
});

test("the longest term that fits is marked", () => {
  expect(terms("A dividing merge, then a false positive: a write stall.")).toEqual([
    "dividing merge",
    "false positive",
    "write stall",
  ]);
  expect(explained(["It is flushed, and moved: a trivial move."])[0]).toContainEqual({
    text: "moved",
    word: "move",
  });
});

test("parts of other words, and of names, are no terms", () => {
  expect(terms("A log-structured merge tree under leveled, tableless prefixing.")).toEqual([]);
});

test("every chapter explains its terms, and answers in whole sentences", () => {
  for (const { id, hook, answers } of CHAPTERS) {
    expect(terms(...hook).length, id).toBeGreaterThan(1);
    expect(answers.length, id).toBeGreaterThan(0);
    for (const { ask, answer } of answers) {
      expect(ask, id).toMatch(/^[A-Z].*\?$/);
      expect(answer, id).toMatch(/^[A-Z].*\.$/);
    }
  }
});

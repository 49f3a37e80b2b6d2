/** Scores of guesses. */

import { expect, test } from "vitest";
import { scoreOf, scoreText } from "../src/chapters/score.ts";

test("guesses are near within a quarter, or half of a last digit", () => {
  expect(scoreOf([4, 10, 3], [5, 8, 5], 1)).toMatchObject({ near: 2, of: 3 });
  expect(scoreOf([1, 2], [1, 1.4], 0)).toMatchObject({ near: 1 });
  expect(scoreOf([0.3], [0], 0)).toMatchObject({ near: 1 });
});

test("an order is right if all clear differences were guessed", () => {
  expect(scoreOf([3, 2, 1], [9, 5, 2], 1).inOrder).toBe(true);
  expect(scoreOf([3, 2, 2], [9, 5, 2], 1).inOrder).toBe(false);
  expect(scoreOf([3, 1, 2], [9, 5, 2], 1).inOrder).toBe(false);
  // Measurements that are as good as equal have no order.
  expect(scoreOf([1, 2], [5, 5.1], 1).inOrder).toBe(true);
});

test("a score is a sentence", () => {
  expect(scoreText({ near: 3, of: 3, inOrder: true })).toBe(
    "Guesses within a quarter of what was measured: all, and their order is right.",
  );
  expect(scoreText({ near: 0, of: 2, inOrder: true })).toBe(
    "Guesses within a quarter of what was measured: none, but their order is right.",
  );
  expect(scoreText({ near: 1, of: 2, inOrder: false })).toBe(
    "Guesses within a quarter of what was measured: 1 of 2, but their order is wrong.",
  );
});

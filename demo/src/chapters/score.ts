/** Scores of the guesses of a question. */

/** Score of the guesses of a question. */
export interface Score {
  /** Guesses within a quarter of what was measured, or half a unit of its last digit. */
  near: number;
  of: number;
  /** Whether each of two clearly different measurements was also guessed higher than the other. */
  inOrder: boolean;
}

/** Share by which two measurements differ clearly. */
const CLEARLY = 0.05;
/** Share of a measurement within which a guess is near. */
const NEAR = 0.25;

/** Scores guesses; `digits` are those that are shown after the point. */
export function scoreOf(
  guesses: readonly number[],
  measured: readonly number[],
  digits: number,
): Score {
  const rows = measured.map((value, i) => ({ value, guess: guesses[i] ?? Number.NaN }));
  const unit = 0.5 * 10 ** -digits;
  const near = rows.filter(({ value, guess }) => {
    return Math.abs(guess - value) <= Math.max(NEAR * value, unit);
  });
  const inOrder = rows.every((a) =>
    rows.every((b) => a.value <= b.value * (1 + CLEARLY) || a.guess > b.guess),
  );
  return { near: near.length, of: rows.length, inOrder };
}

/** Returns a score as a sentence. */
export function scoreText({ near, of, inOrder }: Score): string {
  const count = near === of ? "all" : near === 0 ? "none" : `${near} of ${of}`;
  const joined = near > 0 === inOrder ? "and" : "but";
  const order = inOrder ? "their order is right" : "their order is wrong";
  return `Guesses within a quarter of what was measured: ${count}, ${joined} ${order}.`;
}

/** The short answers as text, for readers without scripts: `vitest run -u` writes them again. */

import { expect, test } from "vitest";
import { CHAPTERS } from "../src/chapters/chapters.ts";

/** Longest line, in letters. */
const WIDE = 100;

/** Breaks a text into lines. */
function wrapped(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= WIDE) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join("\n");
}

test("the page without scripts leads to all short answers", async () => {
  const answers = CHAPTERS.flatMap(({ name, answers }) =>
    answers.map(({ ask, answer }) => `${wrapped(ask)}\n${wrapped(answer)}\n(${name})`),
  );
  const head = "LSM trees: short answers, one or more for each chapter of Terrane's visualizer.";
  const text = `${[head, ...answers].join("\n\n")}\n`;
  await expect(text).toMatchFileSnapshot("../public/answers.txt");
});

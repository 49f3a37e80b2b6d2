/** Words for what the engine reports. */

import type { StallReason } from "terrane";
import { expect, test } from "vitest";
import { EMPTY } from "../src/timeline/state.ts";
import { STALL_REASONS } from "../src/source/contract.ts";
import { nowSentence, reasonText } from "../src/views/words.ts";

const REASONS: Record<StallReason, string> = {
  memtables: "memtables to be flushed",
  memory: "memory",
  level0: "level 0",
  wal: "the log",
  "compaction-bytes": "bytes wait for compaction",
  "range-deletes": "range deletes",
};

test("every stall reason of the engine has its words", () => {
  expect(Object.keys(REASONS).toSorted()).toEqual([...STALL_REASONS].toSorted());
});

test.each(Object.entries(REASONS))("a wait for %s is described as such", (name, words) => {
  const reason = name as StallReason;
  const levels = [{ runs: [] }];
  const sentence = nowSentence({ ...EMPTY, levels, stall: { reason, since: 0 } }, 0);
  expect(sentence).toMatch(/^Writes wait/);
  expect(sentence).toContain(words);
  const others = Object.keys(REASONS).filter((other) => other !== name) as StallReason[];
  expect(others.map(reasonText)).not.toContain(reasonText(reason));
});

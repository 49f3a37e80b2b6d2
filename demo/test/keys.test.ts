/** Keys as text: numbers are never mistaken for it, and text is shown as it is. */

import { expect, test } from "vitest";
import { DEFAULTS } from "../src/source/settings.ts";
import { EMPTY, tablesOf } from "../src/timeline/state.ts";
import { areNumbers, axisLabels, keyLabel, keyText } from "../src/views/keys.ts";
import { simulate } from "./simulator.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("a number whose bytes are letters is shown as a number where keys are numbers", () => {
  const { timeline } = simulate({ ...DEFAULTS, load: 60_000, operations: 0 });
  expect(areNumbers(timeline.end)).toBe(true);
  expect(areNumbers(EMPTY)).toBe(false);
  for (const table of tablesOf(timeline.end.levels.at(-1))) {
    expect(keyLabel(table.smallest, true)).toMatch(/^[0-9a-f]{4}$/);
  }
  expect(keyLabel(bytes("Ll+x"), true)).toBe("4c6c");
  expect(keyText(bytes("Ll"), true)).toBe("4c6c");
});

test("keys that are text are shown as text", () => {
  expect(keyLabel(bytes("oslo/2026-05-17"), false)).toBe("oslo/202");
  expect(keyText(bytes("oslo/2026-05-17"), false)).toBe("oslo/2026-05-17");
});

test("labels of text differ from their neighbours, and the first says what all begin with", () => {
  const labels = (...keys: string[]) => axisLabels(keys.map(bytes), false);
  expect(labels("ash", "elm", "fern", "moss")).toEqual(["as", "el", "fe", "mo"]);
  expect(labels("key0000", "key2500", "key2600", "key9999")).toEqual([
    "key00",
    "key250",
    "key260",
    "key99",
  ]);
  expect(labels("tenant-7/00", "tenant-7/50", "tenant-7/99")).toEqual([
    "tenant-7/00",
    "…50",
    "…99",
  ]);
  expect(labels("a/very/long/prefix/00", "a/very/long/prefix/50")).toEqual(["…00", "…50"]);
  expect(labels("", "", "")).toEqual(["", "", ""]);
  expect(axisLabels([Uint8Array.of(0x61, 0x62), Uint8Array.of(0x80)], true)).toEqual([
    "6162",
    "80",
  ]);
});

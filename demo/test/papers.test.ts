/** The papers' figures in the chapters, against docs/papers as read here. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Choice, CHOICES, type Source } from "../papers/choice.ts";
import { figureOf } from "../papers/figure.ts";
import { headlinesOf, numbersOf } from "../papers/read.ts";
import { CHAPTERS } from "../src/chapters/chapters.ts";
import { axisOf } from "../src/chapters/papers/axis.ts";
import type { PaperCase, PaperFigure } from "../src/chapters/papers/figure.ts";
import { settingsOf } from "../src/chapters/papers/run.ts";
import { agrees, inOrder, orderOf, verdictOf } from "../src/chapters/papers/verdict.ts";
import { decode, encode } from "../src/source/link.ts";

const DOCS = new URL("../../docs/papers/", import.meta.url);
const text = (path: string) => readFileSync(new URL(path, DOCS), "utf8");
const read = (path: string) => Promise.resolve(text(path));

const FIGURES = await Promise.all(
  Object.entries<Choice>(CHOICES).map(async ([folder, choice]) => ({
    folder,
    choice,
    figure: await figureOf(folder, choice, read),
  })),
);

/** The figures of a folder of docs/papers as its report has them. */
interface Report {
  figures: { id: string; rows: { case: string; measure: string; ours: number; paper: number }[] }[];
}

/** Our number of a report, and the paper's. */
function reported(folder: string, source: Source): { ours: number; paper: number | null } {
  if ("of" in source) {
    const [of, over] = [reported(folder, source.of), reported(folder, source.over)];
    return { ours: of.ours / over.ours, paper: of.paper && over.paper && of.paper / over.paper };
  }
  const [figure, name, measure] = source;
  const { figures } = JSON.parse(text(`${folder}/report.json`)) as Report;
  const row = figures
    .find(({ id }) => id === figure)
    ?.rows.find((row) => row.case === name && row.measure === measure);
  if (row === undefined) throw new Error(`no ${source.join(", ")} in the report of ${folder}`);
  return row;
}

/** Numbers to the digits that text keeps of them. */
const kept = (values: readonly (number | null)[] = []) =>
  values.map((value) => value?.toPrecision(12));

/** The numbers of a cell of the table of headlines. */
const inText = (cell: string) => [...cell.matchAll(/\d+(?:\.\d+)?/g)].map(([digits]) => digits);

/** Whether digits are what a number is rounded to. */
const isRounded = (digits: string, value: number) => {
  const places = digits.split(".")[1]?.length ?? 0;
  return Math.abs(Number(digits) - value) <= 0.5 / 10 ** places + 1e-9;
};

describe.each(FIGURES)("$folder", ({ folder, choice, figure }) => {
  test("every number is the report's", () => {
    const said = (sources: readonly Source[] = []) => sources.map((one) => reported(folder, one));
    for (const [i, { ours, changed }] of choice.headlines.entries()) {
      const marks = figure.headlines[i]?.marks;
      expect(kept(marks?.ours)).toEqual(kept(said(ours).map((one) => one.ours)));
      expect(kept(marks?.changed)).toEqual(kept(said(changed).map((one) => one.ours)));
      const stated = said(ours).flatMap(({ paper }) => paper ?? []);
      if (stated.length > 0) expect(kept(marks?.paper)).toEqual(kept(stated));
    }
    for (const [i, { cases }] of choice.panels.entries()) {
      for (const { name, ours, changed } of cases) {
        const shown = figure.panels[i]?.cases.find((one) => one.name === name);
        expect(kept(shown?.ours)).toEqual(kept([reported(folder, ours).ours]));
        expect(kept(shown?.paper)).toEqual(kept([reported(folder, ours).paper]));
        const others = said(changed ? [changed] : []).map((one) => one.ours);
        expect(kept(shown?.changed)).toEqual(kept(others));
      }
    }
  });

  test("the table of headlines states the numbers that are drawn", () => {
    for (const { ours, changed, marks } of figure.headlines) {
      if (!marks) continue;
      for (const [cell, drawn] of [
        [ours, marks.ours],
        [changed, marks.changed],
      ] as const) {
        const digits = inText(cell);
        // Two numbers in a cell may be those of a ratio.
        if (digits.length === drawn.length)
          digits.forEach((one, i) => expect(isRounded(one, drawn[i] ?? 0), cell).toBe(true));
        else expect(Number(digits[0]) / Number(digits[1])).toBeCloseTo(drawn[0] ?? 0, 0);
      }
    }
  });

  test("an order holds where the ratios say so, and why not is said", () => {
    for (const headline of figure.headlines) {
      const { holds, marks, paper, why } = headline;
      expect(why === undefined, headline.name).toBe(holds);
      if (!holds) expect(verdictOf(headline)).toContain("does not hold");
      const last = marks?.changed.length ? marks.changed : marks?.ours;
      if (marks && last && holds) expect(agrees(marks, last, paper), headline.name).toBe(true);
    }
  });

  test("each run opens as it is in the configuration", () => {
    const runs = [...figure.runs, ...figure.panels.flatMap(({ cases }) => cases)];
    const shown = runs.flatMap(({ run }) => run ?? []);
    expect(shown.length).toBeGreaterThan(0);
    for (const run of shown) {
      const settings = settingsOf(run, {});
      expect(settings.policy).toBe(run.policy["policy"]);
      const opened = decode(encode({ settings }));
      expect(opened.problem).toBeUndefined();
      expect(opened.settings).toEqual(settings);
    }
  });
});

test("each chapter with a report has its figures, and each headline has a chapter", () => {
  const reports = CHAPTERS.flatMap(({ report }) => report ?? []);
  expect(reports.toSorted()).toEqual(Object.keys(CHOICES).toSorted());
  const shown = FIGURES.flatMap(({ figure }) => figure.headlines.map(({ name }) => name));
  const all = headlinesOf(text("README.md")).map(({ name }) => name);
  expect(shown.toSorted()).toEqual(all.toSorted());
});

test("a sentence says with what an order holds", () => {
  const row = { name: "", paper: "0.92", ours: "1.25", changed: "0.79", by: "whole flushes" };
  const marks = { paper: [0.92], ours: [1.25], changed: [0.79] };
  expect(verdictOf({ ...row, holds: true, marks })).toBe(
    "The order holds with whole flushes, and not without.",
  );
  expect(verdictOf({ ...row, holds: true, marks: { ...marks, ours: [0.9] } })).toBe(
    "The order holds; with whole flushes: 0.79.",
  );
  expect(verdictOf({ ...row, holds: true, by: "", marks })).toBe("The order holds.");
  expect(verdictOf({ ...row, holds: false, why: "Nobody knows." })).toBe(
    "The order does not hold, even with whole flushes. Nobody knows.",
  );
});

test("pairs of cases are counted that are in the paper's order", () => {
  const one = (paper: number, ours: number, changed: number[] = []): PaperCase => ({
    name: "",
    paper: [paper],
    ours: [ours],
    changed,
  });
  const cases = [one(1, 5), one(2, 3, [6]), one(3, 8), one(3, 9)];
  expect(inOrder(cases, ({ ours }) => ours[0])).toEqual({ pairs: 5, same: 4 });
  expect(orderOf(cases, "a change")).toBe(
    "4 of 5 pairs are in the paper's order, and 5 with a change.",
  );
  expect(orderOf([one(1, 2), one(2, 3)], "")).toBe("All 1 pairs are in the paper's order.");
});

test("a line of CSV may have commas and quotes in its texts", () => {
  const csv =
    'case,measure,ours,paper,ratio,source\n"a, ""b""","c, d",1.5,,,"none"\n"e","f",2,4,0.5,"x"\n';
  expect([...numbersOf(csv)]).toEqual([
    ['a, "b": c, d', { ours: 1.5, paper: undefined, source: "none" }],
    ["e: f", { ours: 2, paper: 4, source: "x" }],
  ]);
  expect(() => numbersOf("a,b\n")).toThrow("expected the columns");
});

test("a chosen number that is not there is an error that names it", async () => {
  const choice: Choice = {
    about: "",
    headlines: [],
    panels: [{ title: "", cases: [{ name: "x", ours: ["tables", "no such case", "files"] }] }],
    again: { config: "switches", case: "switches, all four, global-range" },
  };
  await expect(figureOf("partitioning", choice, read)).rejects.toThrow(
    "expected files of “no such case” in docs/papers/partitioning/tables.csv",
  );
});

test("equal ratios are equal distances, within the axis, with a few ticks", () => {
  const drawn: PaperFigure[] = FIGURES.map(({ figure }) => figure);
  const all = drawn.flatMap(({ panels, headlines }) => [
    ...panels.map(({ cases }) => cases),
    headlines.flatMap(({ marks }) => marks ?? []),
  ]);
  for (const marks of all) {
    const values = marks.flatMap(({ paper, ours, changed }) => [...paper, ...ours, ...changed]);
    if (values.length === 0) continue;
    const { at, ticks } = axisOf(values);
    for (const value of values) expect(at(value) > 0.05 && at(value) < 0.95).toBe(true);
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThan(7);
    const [a = 0, b = 0] = values;
    expect(at(2 * a) - at(a)).toBeCloseTo(at(2 * b) - at(b));
  }
});

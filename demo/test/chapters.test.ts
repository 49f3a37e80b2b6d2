/** The models of the chapters against the figures of the papers' own examples. */

import { describe, expect, test } from "vitest";
import { balance, temperatures } from "../src/chapters/models/buckets.ts";
import { level0Over, waitedOf } from "../src/chapters/models/debt.ts";
import * as dividing from "../src/chapters/models/dividing.ts";
import { falseShare, filterOf, mayHold } from "../src/chapters/models/filters.ts";
import { countersOf, readCost } from "../src/chapters/models/horizontal.ts";
import { costOf } from "../src/chapters/models/levels.ts";
import { byRule, closed, stale, TABLES } from "../src/chapters/models/move-or-merge.ts";
import { cut, groupsOf, halvings } from "../src/chapters/models/partitions.ts";
import { blocksOf, KEYS, scanned } from "../src/chapters/models/scans.ts";
import { type Deleted, foundAt, mayGo, mergedDown } from "../src/chapters/models/tombstones.ts";

test("leveling, tiering and lazy leveling, T = 4 and L = 3", () => {
  expect(costOf(4, [1, 1, 1])).toEqual({ writes: 6, runs: 3 });
  expect(costOf(4, [3, 3, 3])).toEqual({ writes: 3, runs: 9 });
  expect(costOf(4, [3, 3, 1])).toEqual({ writes: 4, runs: 7 });
});

test("the cuts that are drawn are those of the tables, and halve the whole key space", () => {
  const runs = [
    [1, 3, 5, 7, 9, 11, 13],
    [4, 6, 8, 10, 12, 14],
  ];
  for (const most of [1, 2, 3, 4, 5, 6]) {
    const cuts = halvings(runs, most, [0, 15]);
    expect(cuts.filter(({ depth }) => depth === 1)).toEqual([{ at: 7.5, depth: 1 }]);
    for (const keys of runs) {
      const tables = cut("A", keys, "global-range", most, [0, 15]);
      tables.slice(1).forEach(({ keys: next }, i) => {
        const [last = 0, first = 0] = [tables[i]?.keys.at(-1), next[0]];
        expect(cuts.some(({ at }) => at > last && at < first)).toBe(true);
      });
    }
  }
  expect(halvings(runs, 3, [0, 15]).map(({ at }) => at)).toEqual([3.5, 7.5, 11.5]);
});

describe("coordinated partitioning, Figure 2", () => {
  const runs = (by: "size" | "global-range") => [
    ...cut("A", [1, 3, 5, 7, 9, 11, 13], by, 3, [0, 15]),
    ...cut("B", [4, 6, 8, 10, 12, 14], by, 3, [0, 15]),
  ];
  const keys = (by: "size" | "global-range") =>
    groupsOf(runs(by)).map((group) => group.map(({ run, keys }) => `${run}${keys}`));

  test("tables cut by size chain into one group", () => {
    expect(keys("size")).toHaveLength(1);
    expect(keys("size")[0]).toHaveLength(5);
  });

  test("tables cut at halves of the key space are one move and two merges", () => {
    expect(keys("global-range")).toEqual([
      ["A1,3"],
      ["B4,6", "A5,7"],
      ["B8,10", "A9,11,13", "B12,14"],
    ]);
  });
});

describe("Vertiorizon, Figure 4: 60 MB in runs of 10 MB", () => {
  const cost = (...merges: number[]) => readCost(6, new Set(merges), 10);

  test("merges of 20, 20 and 20 MB, and of 30, 20 and 10", () => {
    expect(cost(2, 4, 6)).toEqual({ level1: 30, level2: 60 });
    expect(cost(3, 5, 6)).toEqual({ level1: 40, level2: 40 });
    expect(cost(6)).toEqual({ level1: 150, level2: 0 });
  });

  test("no other three merges are read less than those of horizontal tiering", () => {
    const fires = countersOf(2, 3).flatMap(({ merged }, i) => (merged.length > 0 ? [i + 1] : []));
    expect(fires).toEqual([3, 5, 6]);
    const sums: number[] = [];
    for (let a = 1; a <= 4; a++) {
      for (let b = a + 1; b <= 5; b++) {
        const { level1, level2 } = cost(a, b, 6);
        sums.push(level1 + level2);
      }
    }
    const best = cost(...fires);
    expect(best.level1 + best.level2).toBe(Math.min(...sums));
  });

  test("three levels cascade, and end when all counters are 0", () => {
    const steps = countersOf(3, 2);
    expect(steps.map(({ merged }) => merged)).toEqual([[], [1], [1, 2], [1, 2]]);
    expect(steps.at(-1)?.counters).toEqual([0, 0, 0]);
    // C(k + l - 1, l) admissions.
    expect(countersOf(2, 5)).toHaveLength(15);
    expect(countersOf(3, 4)).toHaveLength(20);
  });
});

describe("Spooky: 16 MiB into 64 MiB", () => {
  test("written and peaks, of a full merge, partial ones and one that is cut at four places", () => {
    const figures = (["full", "partial", "spooky"] as const).map((way) => {
      const groups = dividing.groupsOf(way);
      return [dividing.total(groups), Number(dividing.peak(groups).toFixed(2))];
    });
    expect(figures).toEqual([
      [64, 2.25],
      [78, 1.41],
      [64, 1.5],
    ]);
  });

  test("what is used while a merge runs is never above its peak, and reaches it", () => {
    for (const way of ["full", "partial", "spooky"] as const) {
      const groups = dividing.groupsOf(way);
      const all = dividing.total(groups);
      const used = Array.from({ length: all * 4 + 1 }, (_, i) => {
        return dividing.momentOf(groups, i / 4).used / dividing.LARGEST;
      });
      expect(Math.max(...used)).toBeCloseTo(dividing.peak(groups), 9);
      expect(used[0]).toBe(1.25);
    }
  });
});

describe("PTierDB: t1{a,b} t2{b} t3{a,c} t4{a,d}", () => {
  test("the literal rule leaves t2, and an old b resurfaces", () => {
    expect([...byRule(TABLES)]).toEqual(["t1", "t3", "t4"]);
    const pair = (...held: string[][]) =>
      byRule(held.map((prefixes, age) => ({ name: `t${age}`, age, prefixes }))).size;
    expect([pair(["a"], ["a"]), pair(["a", "b"], ["a", "c"]), pair(["a"], ["a", "b"])]).toEqual([
      2, 2, 0,
    ]);
    expect(stale(TABLES, byRule(TABLES))).toEqual(["b"]);
  });

  test("closing the set takes t2 in, and nothing is lost", () => {
    expect([...closed(TABLES, byRule(TABLES))].sort()).toEqual(["t1", "t2", "t3", "t4"]);
    expect(stale(TABLES, closed(TABLES, byRule(TABLES)))).toEqual([]);
  });

  test("closing any set makes it safe", () => {
    for (let bits = 1; bits < 16; bits++) {
      const set = new Set(TABLES.filter((_, i) => bits & (1 << i)).map(({ name }) => name));
      expect(stale(TABLES, closed(TABLES, set))).toEqual([]);
    }
  });
});

test("BucketLSM: volumes of 60, 20, 15 and 5 become 30, 30, 20 and 20", () => {
  expect(temperatures([60, 20, 15, 5], 4)).toEqual([2.4, 0.8, 0.6, 0.2]);
  expect(balance([60, 20, 15, 5], 4)).toEqual([30, 30, 20, 20]);
  expect(temperatures(balance([60, 20, 15, 5], 4), 4)).toEqual([1.2, 1.2, 0.8, 0.8]);
  expect(balance([25, 25, 25, 25], 4)).toEqual([25, 25, 25, 25]);
});

describe("filters", () => {
  const names = (kind: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${kind}${i}`);

  test("a filter says yes to every key that the table holds", () => {
    const held = names("held", 500);
    for (let bits = 1; bits <= 12; bits++) {
      const filter = filterOf(held, bits);
      expect(held.every((key) => mayHold(filter, key))).toBe(true);
    }
  });

  test("its false positives are about as many as the formula says", () => {
    const absent = names("absent", 20_000);
    for (const bits of [2, 4, 8]) {
      const filter = filterOf(names("held", 2000), bits);
      const wrong = absent.filter((key) => mayHold(filter, key)).length / absent.length;
      expect(wrong).toBeGreaterThan(falseShare(bits) / 1.5);
      expect(wrong).toBeLessThan(falseShare(bits) * 1.5);
    }
    expect(falseShare(1)).toBeCloseTo(0.62, 2);
  });
});

describe("level 0 under a burst", () => {
  test("merges that keep up leave nobody waiting", () => {
    for (const every of [1, 2, 3, 4])
      expect(waitedOf(level0Over(24, { every, takes: 1, limit: 12 }))).toBe(0);
  });

  test("a lower limit makes writes wait longer, and no merge faster", () => {
    const paces = { every: 1, takes: 2 };
    const waits = [2, 4, 8].map((limit) => waitedOf(level0Over(24, { ...paces, limit })));
    expect(waits).toEqual(waits.toSorted((a, b) => b - a));
    expect(waits[0]).toBeGreaterThan(waits[2] ?? 0);
    for (const limit of [2, 4, 8]) {
      const seconds = level0Over(24, { ...paces, limit });
      expect(Math.max(...seconds.map(({ runs }) => runs))).toBeLessThanOrEqual(limit);
      // Each of the 24 runs takes two seconds.
      expect(seconds.length).toBeGreaterThanOrEqual(48);
    }
  });
});

describe("scans", () => {
  test("each number of runs has every key once", () => {
    for (const runs of [1, 2, 3, 4, 6, 8]) {
      const keys = blocksOf(runs).flat(2);
      expect(keys.toSorted((a, b) => a - b)).toEqual(Array.from({ length: KEYS }, (_, i) => i));
    }
  });

  test("a scan reads a block of each run, and those with its keys", () => {
    for (const runs of [1, 2, 3, 4, 6, 8]) {
      for (let first = 0; first <= 80; first++) {
        for (const count of [1, 6, 16]) {
          for (const blocks of blocksOf(runs)) {
            const read = new Set(scanned(blocks, first, count));
            const wanted = (key: number) => key >= first && key < first + count;
            blocks.forEach((keys, i) => keys.some(wanted) && expect(read.has(i)).toBe(true));
            if ((blocks.at(-1)?.at(-1) ?? 0) >= first) expect(read.size).toBeGreaterThan(0);
          }
        }
      }
    }
  });
});

describe("tombstones", () => {
  const trees = Array.from({ length: 16 }, (_, bits): Deleted => {
    const older = [false, ...[1, 2, 4].map((bit) => (bits & bit) !== 0)];
    return { tombstone: 0, older, snapshot: bits >= 8 };
  });

  test("merges alone never bring a deleted key back", () => {
    for (let tree of trees) {
      for (let merges = 0; merges < 3; merges++) {
        tree = mergedDown(tree);
        expect(foundAt(tree)).toBeUndefined();
      }
      // With a snapshot it stays in the last level.
      expect(tree.tombstone).toBe(tree.snapshot ? 3 : undefined);
    }
  });

  test("dropping it before it may go brings the key back", () => {
    for (let tree of trees.filter(({ snapshot }) => !snapshot)) {
      for (let merges = 0; merges < 3; merges++) {
        tree = mergedDown(tree);
        if (tree.tombstone === undefined) break;
        expect(mayGo(tree)).toBe(false);
        expect(foundAt({ ...tree, tombstone: undefined })).toBeDefined();
      }
    }
  });
});

/** Ranges whose fields contradict each other: TypeScript refuses them, and so does each call. */

import { expect, test } from "./fixtures.ts";

test("a range has a prefix, or one bound at each end", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const db = await window.terrane.open("ranges", { storage: "memory" });
    const calls: (() => Promise<unknown>)[] = [
      // @ts-expect-error A prefix stands alone.
      () => db.count({ prefix: "a", gte: "b" }),
      // @ts-expect-error One lower bound.
      () => db.first({ gte: "a", gt: "b" }),
      // @ts-expect-error One upper bound.
      () => db.keys({ lte: "a", lt: "b" }).next(),
      // @ts-expect-error A prefix stands alone.
      () => db.cursor({ prefix: "a", lt: "b", rows: "keys" }).next(1),
      // @ts-expect-error A prefix stands alone.
      () => db.batch([{ type: "deleteRange", prefix: "a", lt: "b" }]),
    ];
    const failures: (string | undefined)[] = [];
    for (const call of calls) failures.push((await window.failure(async () => call()))?.message);
    // These have types without a note of their own.
    const isDone = failures.length > 0;
    const bounds = { gt: "a", lte: "d", reverse: true, limit: 2 };
    const start = isDone ? { gte: "b" } : {};
    const some = isDone ? ({ prefix: "c" } as const) : ({ lt: "c" } as const);
    for (const key of ["a", "b", "c", "d"]) await db.put(key, "v");
    const counts = [await db.count(start), await db.count({ ...start, lt: "d" })];
    const keys: string[] = [];
    for await (const key of db.keys(bounds)) keys.push(key);
    return { failures, counts, keys, some: await db.count(some) };
  });
  const both = "range: expected a prefix or bounds, found both";
  expect(found).toEqual({
    failures: [
      both,
      "range: expected one of gte and gt, found both",
      "range: expected one of lt and lte, found both",
      both,
      both,
    ],
    counts: [3, 2],
    keys: ["d", "c"],
    some: 1,
  });
});

/** The suite that abstract-level publishes, over `terrane-level` in pages: nothing of it is changed or left out. */

import { expect, full, test } from "./fixtures.ts";
import { levelPages } from "./level.ts";

/** The number of assertions of abstract-level 3.1.1 for a database without `getSync`. */
const ASSERTIONS = 4708;

/** Functions of the page, which the bundle sets. */
declare const lead: () => void;
declare const run: (role: string) => Promise<string>;

for (const role of ["leading", "following"] as const) {
  test(`the suite of abstract-level passes, ${role}`, async ({ context, origin }) => {
    test.skip(role === "following" && !full, "it opens each store twice, and takes minutes");
    // Some 5000 assertions take minutes beside other work.
    test.setTimeout(5 * test.info().timeout);
    const open = levelPages(context, origin, "page.js");
    if (role === "following") await (await open()).evaluate(() => lead());
    const page = await open();
    const printed = await page.evaluate((role) => run(role), role);
    expect(printed.match(/^(#.*\n)?not ok .*$/gm) ?? []).toEqual([]);
    const counts = /^# tests (\d+)\n# pass +(\d+)$/m.exec(printed)?.slice(1).map(Number);
    expect(counts).toEqual([ASSERTIONS, ASSERTIONS]);
  });
}

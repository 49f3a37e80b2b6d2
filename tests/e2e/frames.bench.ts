/**
 * Prints what a frame of the visualizer costs with thousands of tables on screen: `npm run frames`.
 *
 * Each moment is played for some seconds. A frame's callback is what runs in it of the page's own code; the
 * main thread's time has besides what the browser does with that, as processor time, so that a busy
 * machine changes it little. Intervals are by the clock, and do show how busy the machine is.
 */

import { expect, test } from "./fixtures.ts";

/** Time for which a moment is played, in milliseconds: before it counts, and while it does. */
const [WARM_UP, PLAYED] = [1000, 5000];

/** Many narrow tables in few runs; as many in many runs; a tree of some hundred tables. */
const MOMENTS = {
  leveled:
    "policy=leveled&workload=uniform&rate=60000&p.targetFileBytes=65536&p.levelBaseBytes=8388608&at=9000000&speed=0.25",
  tiered:
    "policy=tiered&workload=uniform&rate=60000&p.targetFileBytes=65536&p.sizeRatio=16&at=9000000&speed=0.25",
  spooky: "policy=spooky&workload=uniform&rate=20000&at=30000000&speed=0.5",
};

for (const [name, fragment] of Object.entries(MOMENTS)) {
  test(name, async ({ context, origin, protocol }) => {
    const page = await context.newPage();
    await page.addInitScript(() => {
      const costs: number[] = (window.frameCosts = []);
      const ask = window.requestAnimationFrame.bind(window);
      let frame = 0;
      window.requestAnimationFrame = (draw) =>
        ask((now) => {
          const began = performance.now();
          draw(now);
          // All callbacks of a frame get the same time.
          const before = now === frame ? (costs.pop() ?? 0) : 0;
          costs.push(before + performance.now() - began);
          frame = now;
        });
    });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${origin}/demo/#v1&${fragment}`);
    await expect(page.locator(".transport")).not.toContainText("% done");
    await expect(page.locator(".right section").nth(2)).not.toContainText("not there yet");
    const counts = await page.locator(".names .level").allInnerTexts();
    const tables = counts
      .map((text) => Number(/([\d,]+) tables?/.exec(text)?.[1]?.replaceAll(",", "") ?? 0))
      .reduce((sum, count) => sum + count, 0);
    const session = await protocol(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const busy = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
    };
    await page.getByRole("button", { name: "Play" }).click();
    await page.waitForTimeout(WARM_UP);
    await page.evaluate(() => window.frameCosts.splice(0));
    const before = await busy();
    await page.waitForTimeout(PLAYED);
    const costs = await page.evaluate(() => window.frameCosts.splice(0));
    const spent = ((await busy()) - before) * 1000;
    await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
    costs.sort((a, b) => a - b);
    const at = (part: number) => (costs[Math.floor(part * (costs.length - 1))] ?? 0).toFixed(1);
    console.log(
      `${name}: ${tables} tables; a frame's callback ${at(0.5)} ms, ${at(0.95)} at the 95th percentile; ` +
        `main thread ${(spent / costs.length).toFixed(1)} ms a frame; ` +
        `${((costs.length * 1000) / PLAYED).toFixed(0)} frames a second`,
    );
  });
}

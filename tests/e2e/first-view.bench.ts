/**
 * Prints when a new visitor of the visualizer first sees something, on a cold load: `npm run first-view`.
 *
 * Each load is of an origin of its own, with nothing cached, from a server that compresses as hosts of static
 * files do. The network is this machine's, or as slow as is said.
 */

import { test as base } from "./fixtures.ts";
import { serve } from "./server.ts";

/** Loads of which the median is printed. */
const LOADS = 5;

/** Bits a second and milliseconds to the server and back. */
const NETWORKS = {
  "this machine": undefined,
  "20 Mbit/s, 40 ms": { bits: 20e6, latency: 40 },
  "9 Mbit/s, 170 ms": { bits: 9e6, latency: 170 },
};

const test = base.extend<object, { port: number }>({
  port: [
    async ({}, use) => {
      const { server, port } = await serve(true);
      await use(port);
      server.closeAllConnections();
      server.close();
    },
    { scope: "worker" },
  ],
});

/** Milliseconds from the navigation until something is on screen. */
interface Seen {
  frame: number;
  tree: number;
  reason: number;
}

for (const [network, limits] of Object.entries(NETWORKS)) {
  test(network, async ({ context, origin, protocol }) => {
    const loads: Seen[] = [];
    let bytes = 0;
    for (let load = 0; load < LOADS; load++) {
      const page = await context.newPage();
      const session = await protocol(page);
      await session.send("Network.enable");
      if (limits !== undefined) {
        const throughput = limits.bits / 8;
        await session.send("Network.emulateNetworkConditions", {
          offline: false,
          latency: limits.latency,
          downloadThroughput: throughput,
          uploadThroughput: throughput,
        });
      }
      bytes = 0;
      session.on(
        "Network.loadingFinished",
        ({ encodedDataLength }) => (bytes += encodedDataLength),
      );
      await page.addInitScript(() => {
        const seen: Partial<Seen> = {};
        const has = {
          frame: () => document.querySelector(".strata canvas"),
          tree: () => document.querySelector("main:not(.settling) .level:not(.absent)"),
          reason: () => document.querySelector(".verdict")?.textContent?.trim(),
        };
        requestAnimationFrame(function look() {
          for (const name of ["frame", "tree", "reason"] as const) {
            // What this frame shows is painted at its end.
            if (seen[name] === undefined && has[name]())
              requestAnimationFrame((now) => (seen[name] ??= now));
          }
          if (Object.keys(seen).length < 3) requestAnimationFrame(look);
          else Object.assign(window, { seen });
        });
      });
      const host = new URL(origin);
      // Nothing of another load is cached for this origin.
      host.hostname = `load${load}.${host.hostname}`;
      await page.goto(`${host.origin}/demo/`);
      await page.waitForFunction(() => "seen" in window);
      loads.push(await page.evaluate(() => (window as unknown as { seen: Seen }).seen));
      await page.close();
    }
    const median = (of: keyof Seen) =>
      loads
        .map((seen) => seen[of])
        .toSorted((a, b) => a - b)
        [LOADS >> 1]?.toFixed(0);
    console.log(
      `${network}: the page's frame after ${median("frame")} ms, a table after ${median("tree")} ms, ` +
        `a reason after ${median("reason")} ms; ${(bytes / 1024).toFixed(0)} KiB by then`,
    );
  });
}

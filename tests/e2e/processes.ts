/** Chromium's processes on Linux, by which a test kills and stops the one that has a tab. */

import { readdirSync, readFileSync } from "node:fs";
import type { Page } from "./fixtures.ts";

/** The parent of a process and the processor time that it has used; undefined once it has ended. */
function statusOf(pid: number): { parent: number; used: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return { parent: Number(status[1]), used: Number(status[11]) + Number(status[12]) };
  } catch {
    return undefined;
  }
}

/** Whether this process has started another, itself or by others: no other browser's renderers are killed. */
function isOwn(pid: number): boolean {
  for (let at = pid; at > 1; at = statusOf(at)?.parent ?? 0) if (at === process.pid) return true;
  return false;
}

/** Chromium's renderers of this test, with the processor time that they have used. */
function renderers(): Map<number, number> {
  const found = new Map<number, number>();
  for (const pid of readdirSync("/proc").map(Number)) {
    const status = Number.isNaN(pid) ? undefined : statusOf(pid);
    if (status === undefined || !isOwn(pid)) continue;
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (command.includes("--type=renderer")) found.set(pid, status.used);
    } catch {
      // It has ended.
    }
  }
  return found;
}

/** Finds the process of a tab in Chromium, which it keeps busy for that. */
export async function processOf(page: Page): Promise<number> {
  const before = renderers();
  await page.evaluate(() => {
    for (const end = performance.now() + 500; performance.now() < end;);
  });
  const used = (pid: number, time: number) => time - (before.get(pid) ?? time);
  const byUse = [...renderers()].sort((a, b) => used(...b) - used(...a));
  return byUse[0]?.[0] ?? 0;
}

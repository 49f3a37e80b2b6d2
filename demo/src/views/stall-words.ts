/** Sentences about waits of writes, and about what limits a store. */

import { bytes, count, plural } from "../format.ts";
import type { Wait } from "../timeline/history.ts";
import type { Limit, Speeds } from "../timeline/limit.ts";
import type { Cause } from "../timeline/stall.ts";
import { reasonText, seconds } from "./words.ts";

/** Returns a wait in a few words. */
export function waitText({ from, to, reason }: Wait, now: number): string {
  const lasted = `${seconds((to ?? now) - from)} s`;
  return `${lasted} from ${seconds(from)} s on, for ${reasonText(reason)}`;
}

/** Returns a sentence on a wait and its reason. */
export function causeText({ wait, to, level0Runs, sealed }: Cause): string {
  const lasted = seconds(to - wait.from);
  const held =
    wait.reason === "level0"
      ? `level 0 had ${plural(level0Runs, "run")}`
      : wait.reason === "memtables"
        ? `${plural(sealed, "memtable")} waited to be flushed`
        : `they waited for ${reasonText(wait.reason)}`;
  return `Writes waited ${lasted} s, from ${seconds(wait.from)} s on: ${held}.`;
}

/** Returns the sentences that lead from a wait to its cause. */
export function chainText({ wait, accepted, ender, heldUp }: Cause): string[] {
  const waiting = `Writes had to wait once ${bytes(accepted)} had been accepted.`;
  if (ender === undefined) {
    return [waiting, wait.to === undefined ? "They still wait." : "No event shows what ended it."];
  }
  if (ender.kind === "flush") {
    return [
      waiting,
      `It ended at ${seconds(ender.at)} s, when a memtable of ${bytes(ender.bytes)} was flushed.`,
    ];
  }
  const { at, level, began, readBytes, writtenBytes, compaction } = ender;
  const work = `${bytes(readBytes)} read, ${bytes(writtenBytes)} written`;
  const what = began === undefined ? "a move" : "a merge";
  const which = `compaction ${count(compaction)}; ${work}`;
  const end = `It ended at ${seconds(at)} s with ${what} into level ${level} (${which}).`;
  if (began === undefined) return [waiting, end];
  const took = `${seconds(at - began)} s`;
  if (heldUp === undefined) {
    const speed = bytes(readBytes / Math.max((at - began) / 1e6, 1e-6));
    return [
      waiting,
      end,
      `That merge was running already, and took ${took} in all, at ${speed} read a second.`,
    ];
  }
  const late = `That merge took ${took}, and began ${seconds(began - wait.from)} s into the wait`;
  switch (heldUp.by) {
    case "workers": {
      const levels = heldUp.levels.map((one) => `level ${one}`).join(" and ");
      const who = heldUp.workers === 1 ? "the only worker" : `all ${heldUp.workers} workers`;
      return [waiting, end, `${late}: ${who} merged into ${levels}.`];
    }
    case "merge":
      return [waiting, end, `${late}, once a merge into level ${heldUp.level} had ended.`];
    case "decision":
      return [waiting, end, `${late}: the policy planned it then.`];
  }
}

/** Returns a sentence on the limit of a store. */
export function limitText({ by, merged, workers, device }: Limit): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const carried = device === undefined ? "" : `; the device had work for ${percent(device)}`;
  const who = workers === 1 ? "the only worker" : `all ${workers} workers`;
  switch (by) {
    case "device":
      return `The device limits: it had work for ${percent(device ?? 0)} of the last second.`;
    case "workers":
      return `Workers limit: ${who} merged for ${percent(merged)} of the last second${carried}.`;
    case "one-merge":
      return `One merge limits: a single worker of ${workers} has work, so that more workers would not help${carried}.`;
    case "flush":
      return `Flushes limit: memtables fill faster than they are flushed${carried}.`;
    case "nothing":
      return `Nothing limits: workers merged for ${percent(merged)} of the last second${carried}.`;
  }
}

/**
 * Returns sentences on compaction debt: how long merges need for it at the pace of the last second, and a device of
 * these speeds. Each byte of it is read and written.
 */
export function debtText(debt: number, bytesPerSecond: number, speeds: Speeds | undefined): string {
  if (debt === 0) return "No compaction debt: each level is within its capacity.";
  const owed = `Compaction debt: merges must still read and write ${bytes(debt)}.`;
  const pace =
    bytesPerSecond === 0
      ? "None was at work in the last second"
      : `At the pace of the last second that takes ${seconds((2e6 * debt) / bytesPerSecond)} s`;
  if (speeds === undefined) return `${owed} ${pace}.`;
  const device = debt / speeds.read + debt / speeds.write;
  return `${owed} ${pace}; the device alone would need ${seconds(device * 1e6)} s.`;
}

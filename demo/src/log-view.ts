/** A log of what the engine did and why, latest first. */

import type { Event, StallReason } from "terrane";
import { element } from "./dom.ts";
import { bytes, plural } from "./format.ts";

const LINES = 60;

/** Adds events to `#log`. */
export function showEvents(events: Event[]): void {
  const log = element("log");
  const lines = events.flatMap(describe).slice(-LINES);
  log.prepend(
    ...lines.toReversed().map(([kind, text]) => {
      const line = document.createElement("li");
      line.dataset.kind = kind;
      line.textContent = text;
      return line;
    }),
  );
  while (log.childElementCount > LINES) log.lastElementChild?.remove();
}

/** The lines for an event, each with its kind. */
function describe(event: Event): [kind: string, text: string][] {
  switch (event.type) {
    case "flushed": {
      const size = bytes(event.tables.reduce((sum, { bytes }) => sum + bytes, 0));
      const why = event.reason === "" ? "" : `: ${event.reason}`;
      return [["flushed", `Flushed ${size} to ${plural(event.tables.length, "table")}${why}`]];
    }
    case "compaction-begun":
      return [["plan", event.reason]];
    case "group-installed": {
      const [from, to] = [event.inputs.length, event.outputs.length];
      return event.moved
        ? [["moved", `Moved ${plural(from, "table")} to level ${event.level}, nothing rewritten`]]
        : [["merged", `Merged ${plural(from, "table")} into ${to}, in level ${event.level}`]];
    }
    case "level-changed":
      return [["plan", event.reason]];
    case "policy-changed":
      return [["plan", `The policy is now ${event.policy.policy}`]];
    case "plan-refused":
      return [["bad", `A plan was rejected: ${event.why}`]];
    case "policy-state-refused":
      return [["bad", `A policy's state of ${event.bytes} bytes was rejected`]];
    case "job-failed":
      return [["bad", `A job failed: ${event.error}`]];
    case "decided":
      return [["plan", event.reason]];
    case "stall-ended": {
      const waited = `${Math.ceil(event.lastedMicros / 1000)} ms`;
      return [["bad", `Writes waited ${waited} for ${STALLS[event.reason]}`]];
    }
    default:
      return [];
  }
}

const STALLS = {
  memtables: "a flush",
  memory: "a flush",
  level0: "a compaction of level 0",
  wal: "a WAL file",
  "compaction-bytes": "bytes that wait for compaction",
  "range-deletes": "the deletes of ranges that wait to be applied",
} satisfies Record<StallReason, string>;

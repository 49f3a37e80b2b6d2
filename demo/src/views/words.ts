/** A recording in words: what happens now, why, and what the engine did. */

import type { Effect, Quantity, StallReason, Term } from "terrane";
import type { PowerFailedEvent, RecordedEvent, WaitsByReason } from "../timeline/events.ts";
import { bytes, count, inWords, plural, time } from "../format.ts";
import type { Answer, Place, ReadPath } from "../source/read-path.ts";
import { treeFact } from "../timeline/facts.ts";
import { keyText } from "./keys.ts";
import { policyName } from "./policy-names.ts";
import type { Compaction, Group, PlacedTable, State } from "../timeline/state.ts";

/**
 * The compaction that is spoken of: the one that is decided at this very moment, or else the deepest that
 * merges, or the latest.
 */
export function describedCompaction(state: State, micros: number): Compaction | null {
  const { latest, compactions } = state;
  if (latest?.began === micros) return latest;
  const deepest = deepestOf(state.groups);
  return compactions.find(({ id }) => id === deepest?.compaction) ?? latest;
}

/** The merge into the deepest level. */
function deepestOf(groups: readonly Group[]): Group | undefined {
  return groups.filter(({ moved }) => !moved).toSorted((a, b) => b.level - a.level)[0];
}

/** Time for which a power failure is reported, in microseconds. */
const TOLD = 1e6;

/** Returns the losses of a power failure. */
function failureText({ unsyncedBytes, lostWrites }: PowerFailedEvent): string {
  const lost = lostWrites === 0 ? "no write" : plural(lostWrites, "write");
  return `The power failed with ${bytes(unsyncedBytes)} not synced: ${lost} lost`;
}

/** Returns a sentence about the present. */
export function nowSentence(state: State, micros: number): string {
  if (state.detached) return "The connection ended. This is the tree as last reported.";
  if (state.failure !== null && micros - state.failure.micros < TOLD) {
    return `${failureText(state.failure)}.`;
  }
  const merges = state.groups.filter(({ moved }) => !moved);
  const spoken = describedCompaction(state, micros);
  const ofIt = merges.filter(({ compaction }) => compaction === spoken?.id);
  const deepest = deepestOf(ofIt) ?? deepestOf(merges);
  if (deepest === undefined) {
    if (state.levels.length === 0) return "Nothing on disk yet: writes go to memory.";
    if (state.stall !== null) return waitSentence(state);
    return "Nothing to merge: writes go to memory.";
  }
  const same = merges.filter(({ compaction }) => compaction === deepest.compaction);
  const compaction = state.compactions.find(({ id }) => id === deepest.compaction);
  const path = pathText(state, deepest.level, same);
  const divides =
    deepest.cuts.length > 0 && deepest.level === treeFact(state.facts, "dividing-level");
  const others = merges.length - same.length;
  const beside = others === 0 ? "" : `, and ${plural(others, "merge")} besides`;
  if (divides) {
    const keys = plural(deepest.cuts.length, "key");
    return `Dividing merge of ${path}, cut at ${keys} as the largest level is${beside}.`;
  }
  if (compaction === undefined || compaction.groups === 1) return `Merging ${path}${beside}.`;
  const done = `${compaction.groupsInstalled} of ${plural(compaction.groups, "group")} done`;
  return `Merging ${path}: ${done}${beside}.`;
}

/** From which levels merges take their inputs, and where they bring them. */
function pathText(state: State, level: number, merges: readonly Group[]): string {
  const from = sourceLevels(state, merges).filter((depth) => depth !== level);
  return from.length === 0
    ? `runs of level ${level} into one`
    : `${levelsText(from)} into level ${level}`;
}

/** A sentence for each reason; traces of later releases may have other reasons. */
const WAITS: Record<StallReason, (state: State) => string> = {
  level0: ({ levels }) => `Writes wait: level 0 has ${plural(levels[0]?.runs.length ?? 0, "run")}.`,
  memtables: ({ sealed }) => `Writes wait: ${plural(sealed.length, "memtable")} to be flushed.`,
  memory: () => "Writes wait for memory.",
  wal: () => "Writes wait for the log.",
  "compaction-bytes": () => "Writes wait: too many bytes wait for compaction.",
  "range-deletes": () => "Writes wait: too many range deletes are pending.",
};

function waitSentence(state: State): string {
  const reason = state.stall?.reason;
  if (reason === undefined) return "Writes wait.";
  return Object.hasOwn(WAITS, reason)
    ? WAITS[reason](state)
    : `Writes wait for ${reasonText(reason)}.`;
}

/** The levels of the inputs of groups. */
function sourceLevels({ levels }: State, groups: readonly Group[]): number[] {
  const inputs = new Set(groups.flatMap((group) => group.inputs));
  return levels.flatMap(({ runs }, depth) =>
    runs.some(({ tables }) => tables.some(({ id }) => inputs.has(id))) ? [depth] : [],
  );
}

function levelsText(levels: number[]): string {
  const last = levels.at(-1);
  if (levels.length === 1) return `level ${last}`;
  return `levels ${levels.slice(0, -1).join(", ")} and ${last}`;
}

/** A sentence as a verdict: from a capital to a full stop. */
export function verdict(reason: string): string {
  const text = reason.trim();
  if (text === "") return "";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** A quantity's name, and what it is of: `bytes of level 1`. */
export function quantityName({ name, of }: Quantity): string {
  const words = name.replaceAll("-", " ").replace(/\bl0\b/, "L0");
  if (of === "tree") return words;
  if ("item" in of) return `${words} ${of.item}`;
  const [first, last] = of.levels;
  return first === last ? `${words} of level ${first}` : `${words} of levels ${first} to ${last}`;
}

/** A value in a term's unit. */
export function quantityText(value: number, unit: Term["unit"]): string {
  if (unit === "bytes") return bytes(value);
  if (unit === "thousandths") return (value / 1000).toFixed(2);
  return count(value);
}

/** A relation as it is written. */
export function relationText(relation: Term["relation"]): string {
  return { "<": "<", "<=": "≤", ">=": "≥", ">": ">" }[relation];
}

/** The consequence of a comparison, as a policy draws it. */
export function effectText(effect: Effect): string {
  if (typeof effect === "string") return EFFECTS[effect];
  if ("leaves" in effect) return `level ${effect.leaves} moves down`;
  if ("enters" in effect) return `so into level ${effect.enters}`;
  if ("passes" in effect) return `so past level ${effect.passes}`;
  if ("merges" in effect) return `level ${effect.merges} is merged`;
  if ("stays" in effect) return `so within level ${effect.stays}`;
  const [from, to] = effect.becomes;
  return `level ${from} becomes level ${to}`;
}

const EFFECTS: Record<Extract<Effect, string>, string> = {
  due: "a merge is due",
  admitted: "these are admitted",
  taken: "it is merged as well",
  cut: "it is cut",
  split: "it is split",
  joined: "it is joined",
  chosen: "it is chosen",
};

/** Returns the effect of an event, or nothing if it is not worth a line. */
export function logLine(event: RecordedEvent): string | undefined {
  switch (event.type) {
    case "flushed": {
      const size = event.tables.reduce((sum, table) => sum + table.bytes, 0);
      const why = event.reason === "" ? "" : `: ${event.reason}`;
      return `memtable flushed: ${bytes(size)} into level 0${why}`;
    }
    case "range-deletes":
      return `range deletes cover ${count(event.fragments)} key ranges`;
    case "compaction-begun":
      return event.reason;
    case "group-installed": {
      const size = event.outputs.reduce((sum, table) => sum + table.bytes, 0);
      const inputs = plural(event.inputs.length, "table");
      if (event.moved)
        return `${inputs} moved to level ${event.level}, not rewritten: ${bytes(size)}`;
      return `${inputs} became ${count(event.outputs.length)} in level ${event.level}: ${bytes(size)}`;
    }
    case "level-changed":
      return event.reason;
    case "decided":
      return event.reason;
    case "detached":
      return "the connection ended: later events are unknown";
    case "power-failed":
      return `${failureText(event)}; the log had the rest`;
    case "plan-refused":
      return `the plan was refused: ${event.why}`;
    case "policy-changed":
      return `the policy is now ${policyName(event.policy.policy)}`;
    case "policy-state-refused":
      return `the policy's state was refused: ${bytes(event.bytes)}`;
    case "job-failed":
      return `a job failed: ${event.error}`;
    case "stalled":
      return event.reason === "level0"
        ? "writes wait: level 0 is full"
        : `writes wait for ${event.reason === "memtables" ? "a flush" : reasonText(event.reason)}`;
    default:
      return undefined;
  }
}

/** Returns the reason why writes wait. */
export function reasonText(reason: StallReason): string {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason] : reason.replaceAll("-", " ");
}

/** Reasons of waits, as a process counts them. */
const WAIT_REASONS: Record<string, string> = {
  memtables: "for memtables to be flushed",
  memory: "for memory",
  level0: "for level 0",
  wal: "for the next file of the log",
  rangeDeletes: "for range deletes to be applied",
  group: "for other writes",
  lock: "for a requested flush, check or copy",
  sync: "for the log to be synced",
  append: "for slow appends to the log",
  compactionBytes: "for bytes that wait for compaction",
  memtablesSlowdown: "briefly, as memtables came near their limit",
  memorySlowdown: "briefly, as memory came near its limit",
  level0Slowdown: "briefly, as level 0 came near its limit",
  compactionBytesSlowdown: "briefly, as compaction debt came near its limit",
};

/** A wait of writes, as a process counts it. */
export interface CountedWait {
  reason: string;
  count: number;
  micros: number;
  microsMax: number;
}

/** Returns the waits that a process counts, longest first. */
export function countedWaits(waits: WaitsByReason): CountedWait[] {
  const reason = (name: string) => WAIT_REASONS[name] ?? `for ${inWords(name)}`;
  return Object.entries(waits)
    .filter(([, { count }]) => count > 0)
    .map(([name, wait]) => ({ reason: reason(name), ...wait }))
    .sort((a, b) => b.micros - a.micros);
}

/** Returns the time for which writes have waited, in microseconds: as a process counts it, or by its events. */
export function waitedMicros(state: State, micros: number): number {
  const { waits, stall, stalledMicros } = state;
  if (waits === null)
    return stalledMicros + (stall === null ? 0 : Math.max(micros - stall.since, 0));
  // Waits for another group include that group's own.
  const counted = Object.entries(waits).filter(([name]) => name !== "group");
  return counted.reduce((sum, [, wait]) => sum + wait.micros, 0);
}

const REASONS: Record<StallReason, string> = {
  level0: "level 0",
  memtables: "memtables",
  memory: "memory",
  wal: "the log",
  "compaction-bytes": "bytes that wait for compaction",
  "range-deletes": "the deletes of ranges that wait to be applied",
};

/** A table in one sentence. */
export function tableText(table: PlacedTable, level: number): string {
  const { id, entries, tombstones, arrival, since, filterBits } = table;
  const dead = tombstones > 0 ? `, ${count(tombstones)} of them tombstones` : "";
  const size = `${bytes(table.bytes)}, ${plural(entries, "entry", "entries")}${dead}`;
  const filter = `filter of ${filterBits.toFixed(1)} bits per key`;
  return `Table ${id}, level ${level}: ${size}; ${arrival} at ${seconds(since)} s; ${filter}.`;
}

/** Microseconds as seconds. */
export function seconds(micros: number): string {
  return (micros / 1e6).toFixed(micros < 1e8 ? 2 : 1);
}

/** Returns the answers of places that a read asked one after another, and that say the same. */
export function placesText(places: readonly Place[]): string {
  const [first] = places;
  if (first === undefined) return "";
  if (first.stands !== undefined) return standsText(first, first.stands);
  if (first.memtable !== undefined) {
    const deleted = first.expiredAt === undefined ? "deleted here" : "expired";
    const what = { found: "found", operand: "an operand", deleted, newer: "too new" };
    const verdict = first.verdict in what ? what[first.verdict as keyof typeof what] : "absent";
    const memtables = places.length === 1 ? "memtable" : `${places.length} memtables`;
    return `${memtables}: ${verdict}${writeText(first)}`;
  }
  const { verdict, filter } = first;
  if (verdict === "no") {
    return places.length === 1 ? "filter: no" : `${places.length} filters: no`;
  }
  const blocks = blocksText(first);
  if (verdict === "wasted") {
    return filter === undefined
      ? `no filter; ${blocks} for nothing`
      : `filter: yes, and wrong; ${blocks} for nothing`;
  }
  if (verdict === "deleted") {
    const what =
      first.expiredAt === undefined ? "a tombstone: deleted" : "a value that has expired";
    return `${what}${writeText(first)}; ${blocks}`;
  }
  if (verdict === "operand") return `an operand${writeText(first)}; ${blocks}`;
  return verdict === "found"
    ? `found${writeText(first)}; ${blocks}`
    : `only newer versions; ${blocks}`;
}

/** The write that a place has. */
function writeText({ sequence }: Place): string {
  return sequence === undefined ? "" : ` (write ${count(sequence)})`;
}

/** Returns where a scan's cursor stands in a place. */
function standsText(place: Place, key: Uint8Array | null): string {
  const at = key === null ? "nothing here" : `at ${keyText(key, false)}`;
  const first = place.verdict === "found" ? `the first entry, ${at}` : at;
  if (place.memtable !== undefined) return `memtable: ${first}`;
  return place.blocks.length === 0 ? first : `${first}; ${blocksText(place)}`;
}

function blocksText({ blocks }: Place): string {
  const cached = blocks.filter((origin) => origin === "cache").length;
  const count = plural(blocks.length, "block");
  if (cached === blocks.length) return `${count} from the cache`;
  return cached === 0 ? `${count} from disk` : `${count}, ${cached} of them from the cache`;
}

/** A read in sum. */
export function readSum({ places }: ReadPath): string {
  const blocks = places.flatMap((place) => place.blocks).length;
  const read = places.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  const wasted = places
    .filter(({ verdict }) => verdict === "wasted")
    .flatMap((place) => place.blocks).length;
  const asked = plural(places.length, "place");
  const disk = read === 0 ? "" : ` (${bytes(read)} from disk)`;
  const sum = `${outcomeOf(places)}: ${asked} asked, ${plural(blocks, "block")} read${disk}`;
  return isScan(places) ? `${sum}.` : `${sum}, ${wasted} for nothing.`;
}

function outcomeOf(places: readonly Place[]): string {
  if (isScan(places)) return "The first key of the range was found";
  const last = places.at(-1)?.verdict;
  if (last === "found") return "The key was found";
  return last === "deleted" ? "The key is deleted" : "No place has the key";
}

function isScan(places: readonly Place[]): boolean {
  return places.some(({ stands }) => stands !== undefined);
}

/** Returns the answer of a get: a value as text, if it is that. */
export function answerText({ value, milliseconds }: Answer): string {
  if (value === undefined) return `No such key (${time(milliseconds)}).`;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(value);
  } catch {
    return `${plural(value.length, "byte")}, not text.`;
  }
}

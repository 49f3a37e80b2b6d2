/** The store's statistics. */

import type { Db, Stats } from "terrane";
import { write } from "./dom.ts";
import { bytes, count, factor, time } from "./format.ts";

/** Shows statistics; work is counted since the store was opened. */
export function showStats({ keyspaces, space, ...work }: Stats): void {
  const tables = keyspaces.flatMap(({ levels }) => levels.map((level) => level.tables));
  const memory = keyspaces.map(({ memtableBytes }) => memtableBytes);
  write("size", bytes(space.taken));
  write("memory", bytes(sum(memory)));
  write("tables", count(sum(tables)));
  write("written", bytes(work.userBytes));
  const tableBytes = work.flushedBytes + work.mergeWrittenBytes;
  write("amplification", work.userBytes === 0 ? "–" : factor(tableBytes / work.userBytes));
  write("merged", bytes(work.mergeWrittenBytes));
  write("stalls", count(work.stalls));
}

/** Shows this origin's storage use and quota. */
export async function showUsage(db: Db): Promise<void> {
  const { usage, quota } = await db.estimate();
  write("usage", `This site uses ${bytes(usage)} of its quota of ${bytes(quota)}.`);
}

/** Counts the keys by reading them all; returns a message about it. */
export async function countKeys(db: Db): Promise<string> {
  const began = performance.now();
  const keys = await db.count();
  write("keys", count(keys));
  return keys === 0 ? "It is empty." : `All keys read in ${time(performance.now() - began)}.`;
}

function sum(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

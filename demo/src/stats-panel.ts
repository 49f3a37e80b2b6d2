/** The store's figures. */

import type { Db, Stats } from "terrane";
import { write } from "./dom.ts";
import { bytes, count, factor, time } from "./format.ts";

/** Shows what the store tells of itself; work is counted since it was opened. */
export function showFigures({ keyspaces, space, ...work }: Stats): void {
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

/** Shows what this origin takes, of what it may. */
export async function showUsage(db: Db): Promise<void> {
  const { usage, quota } = await db.estimate();
  write("usage", `The browser counts ${bytes(usage)} for this site, of ${bytes(quota)} at most.`);
}

/** Counts the keys by reading them all; says how that went. */
export async function census(db: Db): Promise<string> {
  const began = performance.now();
  const keys = await db.count();
  write("keys", count(keys));
  return keys === 0 ? "It is empty." : `All keys read in ${time(performance.now() - began)}.`;
}

function sum(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** The history of a column family of another engine's store, from its MANIFEST. */

import { messageOf } from "../message.ts";
import { foreignModule } from "./foreign-module.ts";
import type { Batch } from "./trace.ts";
import { readInWorker } from "./trace-recording.ts";

/** A history whose start is read. */
export interface History {
  batches: AsyncIterable<Batch>;
  /** The column family, and all that the store has. */
  shown: string;
  families: readonly string[];
  /** Ends the reading of a history that nobody takes. */
  drop: () => Promise<void>;
}

/** Reads the start of a history, of the first column family unless another is named. */
export async function readHistory(
  file: File,
  options: string,
  family: string | undefined,
): Promise<History> {
  const module = await foreignModule();
  const rest = readInWorker(file, { module, options, family });
  const { value: first } = await rest.next().catch((error: unknown) => {
    const expected = "expected a MANIFEST of RocksDB, Pebble or LevelDB";
    throw new Error(`${file.name} cannot be shown: ${expected}, found ${messageOf(error)}.`);
  });
  async function* all(): AsyncGenerator<Batch> {
    if (first !== undefined) yield first;
    yield* rest;
  }
  const { family: shown = "", families = [] } = first?.foreign ?? {};
  const drop = async () => void (await rest.return(undefined));
  return { batches: all(), shown, families, drop };
}

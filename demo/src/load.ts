/**
 * Loads text into a store: reads ahead while batches are written, and says how it goes.
 */

import type { Db } from "terrane";
import { type Columns, type Fields, type Format, NUMBER, readerOf } from "./parse.ts";

/** Rows of a batch, and batches on their way at once. */
const BATCH_ROWS = 2000;
const BATCHES_IN_FLIGHT = 3;

/** Text that is loaded: a file, or what reads like one. */
export type Source = Pick<Blob, "size" | "stream">;

/** How far a load is. */
export interface Progress {
  rows: number;
  bytes: number;
  totalBytes: number;
  milliseconds: number;
}

/** The first records of a file, for the choice of columns. */
export async function sample(file: Blob, format: Format): Promise<Fields[]> {
  const head = 64 << 10;
  const text = await file.slice(0, head).text();
  const reader = readerOf(format);
  const records = reader.push(text);
  return file.size <= head ? records.concat(reader.end()) : records;
}

/** How a load goes about it. */
export interface Pace {
  /** Milliseconds to rest after each batch. */
  rest: number;
  signal: AbortSignal;
}

/** Puts a row for each record of the source; at the end all are on the medium. */
export async function load(
  db: Db,
  source: Source,
  format: Format,
  columns: Columns,
  { rest, signal }: Pace,
  report: (progress: Progress) => void,
): Promise<Progress> {
  const start = performance.now();
  const progress: Progress = { rows: 0, bytes: 0, totalBytes: source.size, milliseconds: 0 };
  const reader = readerOf(format);
  const flying: Promise<void>[] = [];
  let number = 0;

  const field = (fields: Fields, column: string): string =>
    column === NUMBER ? String(number) : (fields[column] ?? "");

  const write = async (records: Fields[]): Promise<void> => {
    const operations = records.map((fields) => {
      number += 1;
      const [key, value] = [field(fields, columns.key), field(fields, columns.value)];
      return { type: "put" as const, key, value };
    });
    const rows = operations.length;
    const written = db.batch(operations).then(() => {
      progress.rows += rows;
      progress.milliseconds = performance.now() - start;
      report(progress);
    });
    // Its failure is told where it is awaited.
    written.catch(() => undefined);
    flying.push(written);
    if (flying.length >= BATCHES_IN_FLIGHT) await flying.shift();
  };

  const writeAll = async (records: Fields[]): Promise<void> => {
    for (let at = 0; at < records.length; at += BATCH_ROWS) {
      signal.throwIfAborted();
      await write(records.slice(at, at + BATCH_ROWS));
      if (rest > 0) await new Promise((rested) => setTimeout(rested, rest));
    }
  };

  const decoder = new TextDecoder("utf-8", { fatal: true });
  const chunks = source.stream().getReader();
  for (let done = false; !done;) {
    const chunk = await chunks.read();
    done = chunk.done;
    const text = decode(decoder, chunk.value);
    progress.bytes += chunk.value?.length ?? 0;
    await writeAll(reader.push(text));
  }
  await writeAll(reader.end());
  await Promise.all(flying);
  await db.sync();
  progress.milliseconds = performance.now() - start;
  report(progress);
  return progress;
}

/** The text of a chunk, or the end of the text. */
function decode(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (cause) {
    throw new Error("the file is not text in UTF-8", { cause });
  }
}

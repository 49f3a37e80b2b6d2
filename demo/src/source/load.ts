/** Loads text into a store: reads ahead while batches are written, and reports progress. */

import { type Columns, type Fields, type Format, NUMBER, readerOf } from "./parse.ts";
import type { OpenStore } from "./recording.ts";

/** The rows of a batch, and the number of batches in flight. */
const BATCH_ROWS = 2000;
const BATCHES_IN_FLIGHT = 3;

/** The text to load: a file, or something that reads like one. */
export type Source = Pick<Blob, "size" | "stream">;

/** The progress of a load. */
export interface Progress {
  rows: number;
  bytes: number;
  totalBytes: number;
  milliseconds: number;
}

/** Reads the first records of a file, to offer its columns. */
export async function sample(file: Blob, format: Format): Promise<Fields[]> {
  const head = 64 << 10;
  const text = await file.slice(0, head).text();
  const reader = readerOf(format);
  const records = reader.push(text);
  return file.size <= head ? records.concat(reader.end()) : records;
}

/** Rate of a load, and its end. */
export interface Pace {
  /** The pause after each batch, in milliseconds. */
  rest: number;
  signal: AbortSignal;
}

/** Puts a row for each record of the source; all are durable at the end. */
export async function load(
  { db, space }: Pick<OpenStore, "db" | "space">,
  source: Source,
  format: Format,
  columns: Columns,
  { rest, signal }: Pace,
  report: (progress: Progress) => void,
): Promise<Progress> {
  const start = performance.now();
  const progress: Progress = { rows: 0, bytes: 0, totalBytes: source.size, milliseconds: 0 };
  const reader = readerOf(format);
  const inFlight: Promise<void>[] = [];
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
    const written = space.batch(operations).then(() => {
      progress.rows += rows;
      progress.milliseconds = performance.now() - start;
      report(progress);
    });
    // Its error is thrown where it is awaited.
    written.catch(() => undefined);
    inFlight.push(written);
    if (inFlight.length >= BATCHES_IN_FLIGHT) await inFlight.shift();
  };

  const writeAll = async (records: Fields[]): Promise<void> => {
    for (let at = 0; at < records.length; at += BATCH_ROWS) {
      signal.throwIfAborted();
      await write(records.slice(at, at + BATCH_ROWS));
      if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
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
  await Promise.all(inFlight);
  await db.sync();
  progress.milliseconds = performance.now() - start;
  report(progress);
  return progress;
}

/** Decodes a chunk, or the end of the text. */
function decode(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (cause) {
    throw new Error("the file is not text in UTF-8", { cause });
  }
}

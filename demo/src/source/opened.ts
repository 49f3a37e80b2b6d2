/**
 * The files that a visitor opens: an exported store or a trace, which are shown as they are, or rows, which are
 * written to a store.
 */

import type { RecordedEvent } from "../timeline/events.ts";
import { columnsOf, guessFormat, NUMBER, readerOf, usualColumns } from "./parse.ts";
import { Timeline } from "../timeline/timeline.ts";
import { isTraceLine, readEvent } from "./event-log.ts";
import type { Write } from "./operations.ts";
import type { ReadPath } from "./read-path.ts";
import type { Recording, Status } from "./recording.ts";
import { isLive, RANGES, type Settings, UNKNOWN, withPolicy } from "./settings.ts";

/** Content of a file. */
export type Opened =
  | { type: "store"; name: string; file: File }
  | { type: "trace"; name: string; events: RecordedEvent[]; problem: string | undefined }
  | { type: "rows"; name: string; rows: Write[] };

/** Source that is shown instead of a workload: a file, or a process. */
export interface ShownFile {
  name: string;
  problem: string | undefined;
  /** Whether it is a store: the visitor's own, or a copy of an exported one. */
  store?: "own" | "copy";
  /** Whether it was recorded elsewhere, so that only its header describes it. */
  elsewhere?: boolean;
}

/** The most bytes of a file of text: all of it is in memory. */
const BYTES_MAX = 512 << 20;

/** Start of a volume's superblocks, and their places: either may be damaged. */
const MAGIC = "TRNVOL\r\n";
const SUPERBLOCKS = [0, 16_384];

/** The usual extension of exported stores, by which even one without a sound superblock is recognized. */
const EXTENSION = ".terrane";

/** Whether a file is an exported store. */
async function isStore(file: File): Promise<boolean> {
  if (file.name.endsWith(EXTENSION)) return true;
  const starts = SUPERBLOCKS.map((at) => file.slice(at, at + MAGIC.length).text());
  return (await Promise.all(starts)).includes(MAGIC);
}

/**
 * Recognizes a file, and reads it unless it is a store: a trace has an event on each line, other files have
 * rows as a store of the visitor's loads them.
 */
export async function openFile(file: File): Promise<Opened> {
  if (await isStore(file)) return { type: "store", name: file.name, file };
  if (file.size > BYTES_MAX) throw new Error(`${file.name} is larger than 512 MiB.`);
  const text = await file.text();
  const { name } = file;
  if (isTraceLine(text.slice(0, text.indexOf("\n") >>> 0))) {
    const { events, problem } = readEvents(text);
    if (events.length === 0) throw new Error(`${name} cannot be shown. ${problem}`);
    return { type: "trace", name, events, problem };
  }
  const format = guessFormat(name);
  const reader = readerOf(format);
  const records = [...reader.push(text), ...reader.end()];
  const columns = usualColumns(columnsOf(format, records.slice(0, 100)));
  const encoder = new TextEncoder();
  const rows = records.flatMap((fields, i): Write[] => {
    const key = fields[columns.key];
    if (key === undefined || key === "") return [];
    const value = columns.value === NUMBER ? undefined : fields[columns.value];
    return [{ type: "put", key, value: encoder.encode(value ?? String(i + 1)) }];
  });
  if (rows.length === 0)
    throw new Error(`${name} is not an exported store, and has neither events nor rows with keys.`);
  return { type: "rows", name, rows };
}

/** The settings of a recording that writes these rows. */
export function settingsOfRows(rows: readonly Write[], settings: Settings): Settings {
  const sizes = rows.map((row) => (row.type === "put" ? row.value.length : 0));
  const mean = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / sizes.length);
  const { least, most } = RANGES.valueBytes;
  return {
    ...settings,
    load: 0,
    operations: rows.length,
    device: isLive(settings) ? settings.device : "memory",
    valueBytes: Math.min(Math.max(mean, least), most),
  };
}

/** The events of a trace, up to where it is cut short or a line is no event. */
function readEvents(text: string): { events: RecordedEvent[]; problem: string | undefined } {
  const events: RecordedEvent[] = [];
  let before = 0;
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      const event = readEvent(line);
      if (event.micros < before) throw new Error("it is earlier than the event before it");
      before = event.micros;
      events.push(event);
    } catch (error) {
      const end = `This trace ends at ${(before / 1e6).toFixed(2)} s`;
      const problem = `${end}: line ${at + 1} is no event: ${(error as Error).message}.`;
      return { events, problem };
    }
  }
  return { events, problem: undefined };
}

/** A recording from a trace. */
export class OpenedRecording implements Recording {
  readonly settings: Settings;
  readonly timeline: Timeline = new Timeline();
  readonly status: Status = { at: "ended" };
  readonly ended: Promise<void> = Promise.resolve();
  readonly closed: Promise<void> = Promise.resolve();
  readonly readsBack: boolean = false;

  constructor(settings: Settings, events: readonly RecordedEvent[]) {
    const named = events.find((event) => event.type === "header" || event.type === "shape");
    const policy = named === undefined || !("policy" in named) ? UNKNOWN : named.policy;
    this.settings = withPolicy(settings, policy);
    this.timeline.append(events);
  }

  stop(): void {
    // There is nothing that continues.
  }

  read(): Promise<ReadPath> {
    return Promise.reject(
      new Error("A trace tells what happened to tables, and has no keys to read."),
    );
  }
}

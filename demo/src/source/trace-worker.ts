/** Reads a trace, or a MANIFEST as one, away from the page, which asks for a batch of events at a time. */

import type { ForeignSource } from "./manifest.ts";
import { readManifest } from "./manifest-reader.ts";
import { type Failed, replyInTurn } from "./replies.ts";
import { BATCH, type Batch, readTrace } from "./trace.ts";

/** Request of the page: the next batch of a file. */
export interface Next {
  file: File;
  /** Module and choices to read it with, if it is a MANIFEST. */
  foreign: ForeignSource | undefined;
}

/** Reply to the page; no batch follows the last. */
export type Reply = { type: "read"; batch: Batch | undefined } | Failed;

let batches: AsyncGenerator<Batch> | undefined;

replyInTurn(async ({ file, foreign }: Next): Promise<Reply> => {
  batches ??= foreign ? readManifest(file, foreign, BATCH) : readTrace(file);
  const { value, done } = await batches.next();
  return { type: "read", batch: done === true ? undefined : value };
});

/** Reads a trace away from the page, which asks for a batch of events at a time. */

import { type Failed, replyInTurn } from "./replies.ts";
import { type Batch, readTrace } from "./trace.ts";

/** Request of the page: the next batch of a file. */
export interface Next {
  file: File;
}

/** Reply to the page; no batch follows the last. */
export type Reply = { type: "read"; batch: Batch | undefined } | Failed;

let batches: AsyncGenerator<Batch> | undefined;

replyInTurn(async ({ file }: Next): Promise<Reply> => {
  batches ??= readTrace(file);
  const { value, done } = await batches.next();
  return { type: "read", batch: done === true ? undefined : value };
});

/** Openings that have found no worker within their timeout. */

import { BusyError, type TerraneError, UnavailableError } from "../api/errors.ts";
import type { OpenRequest } from "../codec/protocol.ts";
import { leadLock } from "../codec/sharing.ts";
import { delay } from "../shared/delay.ts";
import { describeHolder, findHolder } from "../shared/holder.ts";
import { heldLocks } from "../shared/hold-lock.ts";

/** The least time in which a page that shares a store can be expected to answer, in milliseconds. */
const ANSWER_TIME = 1000;

/**
 * Returns the error of an opening whose timeout has passed, of a client that `mayLead` itself. First leaves a page that
 * may yet answer its time, unless the signal is aborted.
 */
export async function noLeader(
  { name, client, timeout }: OpenRequest,
  mayLead: boolean,
  signal: AbortSignal,
): Promise<TerraneError> {
  if (timeout < ANSWER_TIME && (await isShared(name))) await delay(ANSWER_TIME - timeout, signal);
  if (mayLead || (await findHolder(name)) !== undefined) {
    return new BusyError(await describeHolder(name, client));
  }
  return new UnavailableError(`no page has store "${name}" open, and a worker of this kind cannot`);
}

/** Whether a store is open in a page that shares it, or one is about to open it. */
async function isShared(name: string): Promise<boolean> {
  const holder = await findHolder(name);
  if (holder !== undefined) return holder.leader !== undefined;
  return (await heldLocks()).includes(leadLock(name));
}

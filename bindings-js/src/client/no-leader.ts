/** Openings that have found no worker within their timeout. */

import { BusyError, type TerraneError, UnavailableError } from "../api/errors.ts";
import type { OpenRequest } from "../codec/protocol.ts";
import { leadLock } from "../codec/sharing.ts";
import { delay } from "../shared/delay.ts";
import { describeHolder, findHolder } from "../shared/holder.ts";
import { heldLocks } from "../shared/hold-lock.ts";

/** The least time in which a page that shares a store can be expected to answer, in milliseconds. */
const ANSWER_TIME = 1000;
/** The time after which the locks are looked at again, in milliseconds. */
const LOOK_TIME = 50;

/** A page that keeps a client from leading: it has the store alone, or shares it or is about to open it. */
type Other = "alone" | "shares" | undefined;

/**
 * Returns the error of an opening whose timeout has passed, of a client that `mayLead` itself. First leaves a page that
 * may yet answer its time, unless the signal is aborted.
 */
export async function noLeader(
  { name, client, timeout }: OpenRequest,
  mayLead: boolean,
  signal: AbortSignal,
): Promise<TerraneError> {
  let other = await findOther(name);
  // A lock that is free takes time to be granted.
  while (mayLead && other === undefined && !signal.aborted) {
    await delay(LOOK_TIME, signal);
    other = await findOther(name);
  }
  if (timeout < ANSWER_TIME && other === "shares") await delay(ANSWER_TIME - timeout, signal);
  if (mayLead || (await findHolder(name)) !== undefined) {
    return new BusyError(await describeHolder(name, client));
  }
  return new UnavailableError(`no page has store "${name}" open, and a worker of this kind cannot`);
}

async function findOther(name: string): Promise<Other> {
  const holder = await findHolder(name);
  if (holder !== undefined) return holder.leader === undefined ? "alone" : "shares";
  return (await heldLocks()).includes(leadLock(name)) ? "shares" : undefined;
}

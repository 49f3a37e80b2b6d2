/** The holder of a store, for the errors of others. */

import { type LockHolder, parseHolder } from "../codec/protocol.ts";
import { heldLocks } from "./hold-lock.ts";

/** Returns who holds a store; undefined if nobody is known to. */
export async function findHolder(name: string): Promise<LockHolder | undefined> {
  const held = await heldLocks();
  return held.map(parseHolder).find((found) => found?.name === name);
}

/** Describes who holds a store, for a client. */
export async function describeHolder(name: string, client: string): Promise<string> {
  const owner = await findHolder(name);
  if (owner === undefined) return `store "${name}" is held by another page of this origin`;
  return `store "${name}" is open ${placeOf(owner, client)}, since ${owner.since}`;
}

/** Describes where a holder is, for a client. */
function placeOf(holder: LockHolder, client: string): string {
  if (holder.client === client) return "in this page";
  // The same page, but not the same copy: copies share no connection.
  const [page] = client.split(" ");
  if (holder.client.split(" ")[0] === page) return "in this page, by another copy of this package";
  return `in another tab, ${holder.page}`;
}

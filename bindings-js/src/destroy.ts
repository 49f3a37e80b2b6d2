/** Destroying stores, in a worker. */

import { removeDirectory } from "./directory.ts";
import { hold } from "./locks.ts";
import { allLeft } from "./place.ts";
import type { StoreRequest } from "./protocol.ts";

/** Deletes a store's files, if there are any, with its lock held. */
export async function destroyFiles(request: StoreRequest): Promise<void> {
  await allLeft();
  const { release } = await hold(request);
  await removeDirectory(request).finally(release);
}

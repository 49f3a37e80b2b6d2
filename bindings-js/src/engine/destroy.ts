/** Destroying stores. */

import { removeDirectory } from "./directory.ts";
import { acquireLocks } from "./locks.ts";
import { allReleased } from "./opfs-files.ts";
import type { StoreRequest } from "../codec/protocol.ts";

/** Deletes a store's files, if there are any, while holding its locks. */
export async function destroyFiles(request: StoreRequest): Promise<void> {
  await allReleased();
  const { release } = await acquireLocks(request);
  await removeDirectory(request).finally(release);
}

/** Destroying stores, in a worker. */

import { removeDirectory } from "./directory.ts";
import { hold } from "./locks.ts";
import { allLeft } from "./place.ts";
import type { Asked } from "./protocol.ts";

/** Deletes a store's files, if there are any, with its lock held. */
export async function destroyFiles(asked: Asked): Promise<void> {
  await allLeft();
  const { release } = await hold(asked);
  await removeDirectory(asked).finally(release);
}

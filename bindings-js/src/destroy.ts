/** Destroying stores. */

import { removeDirectory } from "./directory.ts";
import { hold } from "./locks.ts";
import { ask, checkPrivateFiles } from "./options.ts";
import { toError } from "./wire.ts";

/** Deletes the store of that name, if there is one. It must not be open anywhere. */
export async function destroy(
  name: string,
  options: { timeout?: number | undefined } = {},
): Promise<void> {
  const asked = ask(name, options.timeout);
  checkPrivateFiles();
  const { release } = await hold(asked);
  try {
    await removeDirectory(asked);
  } catch (error) {
    throw toError(error);
  } finally {
    release();
  }
}

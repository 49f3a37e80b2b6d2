/** The stores of this origin. */

import { NotFoundError } from "../api/errors.ts";
import { toStoreRequest } from "#store-request";
import { checkPrivateFiles } from "./environment.ts";
import { isDomException, rootDirectory } from "./root-directory.ts";

/** The backing file that a store has last, and the one that it has while it is imported. */
const LAST_FILE = "data";
const IMPORT = "import";

/** Returns the names of all stores in the origin private file system, in the order of their characters. */
export async function stores(): Promise<string[]> {
  checkPrivateFiles();
  const names: string[] = [];
  try {
    const root = await rootDirectory(false);
    for await (const name of root.keys()) if (await isStore(root, name)) names.push(name);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  return names.sort();
}

/** Returns whether there is a store of that name in the origin private file system, open or not. */
export async function exists(name: string): Promise<boolean> {
  toStoreRequest(name);
  checkPrivateFiles();
  try {
    return await isStore(await rootDirectory(false), name);
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

async function isStore(root: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  try {
    const directory = await root.getDirectoryHandle(name);
    await directory.getFileHandle(LAST_FILE);
    return await directory.getFileHandle(IMPORT).then(
      () => false,
      () => true,
    );
  } catch (error) {
    // A store that is deleted meanwhile does not exist, nor does a file of another program.
    const isNone =
      isDomException(error, "NotFoundError") || isDomException(error, "TypeMismatchError");
    if (isNone) return false;
    throw error;
  }
}

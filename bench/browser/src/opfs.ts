/** Removes a directory of the origin private file system with everything in it, if it exists. */
export async function removeDirectory(name: string): Promise<void> {
  const root = await navigator.storage.getDirectory();
  await root.getDirectoryHandle(name, { create: true });
  await root.removeEntry(name, { recursive: true });
}

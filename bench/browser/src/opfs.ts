/** Deletes a folder of this origin's private files with all that is in it, if it is there. */
export async function removeDirectory(name: string): Promise<void> {
  const root = await navigator.storage.getDirectory();
  await root.getDirectoryHandle(name, { create: true });
  await root.removeEntry(name, { recursive: true });
}

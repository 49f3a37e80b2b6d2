/** The files of a store, which the addon holds. */

import type { Layout } from "./options.ts";

/** Something that has files open until it is freed. */
interface FileUser {
  free(): void;
}

/** The place of an open store. */
export class Files {
  /** None: a thread's end is seen without a lock. */
  readonly holderLock: string | undefined;
  readonly path: string;
  readonly layout: Layout;

  constructor(path: string, layout: Layout) {
    this.path = path;
    this.layout = layout;
  }

  /** Resolves: nobody clears the files of a process. */
  async verify(): Promise<void> {}

  /** Releases what has the files open. */
  async release(user: FileUser): Promise<void> {
    user.free();
  }

  /** Releases what has the files open, at once. */
  releaseNow(user: FileUser): void {
    user.free();
  }
}

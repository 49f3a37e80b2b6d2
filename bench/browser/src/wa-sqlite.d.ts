/** Declarations that the package lacks. */

declare module "@journeyapps/wa-sqlite/src/examples/AccessHandlePoolVFS.js" {
  import { Base } from "@journeyapps/wa-sqlite/src/VFS.js";

  export class AccessHandlePoolVFS extends Base {
    /** Opens the pool in the folder of that name. */
    static create(name: string, module: object): Promise<AccessHandlePoolVFS>;
    override close(): Promise<void>;
  }
}

/** Source modules for unit tests: the package itself exports only its public names. */

import { buildSync } from "esbuild";
import { fileURLToPath } from "node:url";

/** Imports what these files under `src` export, bundled together. */
export async function load(...files) {
  const contents = files.map((file) => `export * from "./${file}";`).join("\n");
  const resolveDir = fileURLToPath(new URL("../src", import.meta.url));
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir },
    bundle: true,
    format: "esm",
    write: false,
  });
  const { contents: bytes } = outputFiles[0];
  return import(`data:text/javascript;base64,${Buffer.from(bytes).toString("base64")}`);
}

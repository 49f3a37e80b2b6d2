import omt from "@surma/rollup-plugin-off-main-thread";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { importMetaAssets } from "@web/rollup-plugin-import-meta-assets";

/** Addresses relative to the script: the plugin for workers makes them relative to nothing. */
const besideScript = {
  name: "beside-script",
  resolveFileUrl: ({ relativePath }) => `new URL("${relativePath}", import.meta.url).href`,
};

export default {
  input: { main: "src/index.js" },
  output: { dir: "dist", format: "esm" },
  plugins: [nodeResolve(), besideScript, omt(), importMetaAssets()],
};

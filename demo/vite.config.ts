import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const at = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  plugins: [svelte()],
  // The site works under any path.
  base: "./",
  // The package is a link to its folder beside this one; the simulator's module is built there, too.
  server: { fs: { allow: [".."] } },
  resolve: {
    alias: { "terrane-sim": at("../target/sim-wasm") },
  },
  build: {
    target: "es2022",
    rolldownOptions: {
      input: {
        index: at("index.html"),
        store: at("store.html"),
        embed: at("src/visualizer/embed.ts"),
      },
      // Other pages load this one by its name.
      output: {
        entryFileNames: ({ name }) => (name === "embed" ? "embed.js" : "assets/[name]-[hash].js"),
      },
    },
  },
  worker: { format: "es" },
  // The package finds its worker and its module beside itself; a bundled copy would not.
  optimizeDeps: { exclude: ["terrane"] },
});

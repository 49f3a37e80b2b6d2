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
    rolldownOptions: { input: [at("index.html"), at("store.html")] },
  },
  worker: { format: "es" },
  // The package finds its worker and its module beside itself; a bundled copy would not.
  optimizeDeps: { exclude: ["terrane"] },
});

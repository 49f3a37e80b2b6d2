import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: { target: "es2022", outDir: "dist/site", minify: false },
  worker: { format: "es" },
  // Both find their module beside themselves.
  optimizeDeps: { exclude: ["terrane", "@sqlite.org/sqlite-wasm"] },
});

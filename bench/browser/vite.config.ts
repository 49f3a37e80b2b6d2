import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: { target: "es2022", outDir: "dist/site", minify: false },
  // The page's clock is finer when the page is isolated from others.
  preview: {
    headers: {
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Embedder-Policy": "require-corp",
    },
  },
  worker: { format: "es" },
  // Both find their module beside themselves.
  optimizeDeps: { exclude: ["terrane", "@sqlite.org/sqlite-wasm"] },
});

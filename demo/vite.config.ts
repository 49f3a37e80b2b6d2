import { defineConfig } from "vite";

export default defineConfig({
  // The site works under any path.
  base: "./",
  // The package is a link to its folder beside this one.
  server: { fs: { allow: [".."] } },
  build: { target: "es2022" },
  worker: { format: "es" },
  // The package finds its worker and its module beside itself; a bundled copy would not.
  optimizeDeps: { exclude: ["terrane"] },
});

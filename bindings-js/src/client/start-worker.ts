/** Starting the store's worker. */

/**
 * Starts `worker.js`, which is beside the client's script. A browser does not start a worker from
 * another origin, such as a CDN: there, a module of this origin imports it.
 */
export function startWorker(): Worker {
  const here = import.meta.url;
  if (here.startsWith("http") && new URL(here).origin !== location.origin) {
    const { href } = new URL("worker.js", here);
    const script = new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" });
    const url = URL.createObjectURL(script);
    const worker = new Worker(url, { type: "module" });
    worker.addEventListener("message", () => URL.revokeObjectURL(url), { once: true });
    return worker;
  }
  // Bundlers look for exactly this expression; in the package the client is one file beside it.
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

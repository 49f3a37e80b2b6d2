/**
 * Starting the store's worker: `worker.js`, or `threads.js` where the engine has threads. Both are beside
 * the client's script. A browser does not start a worker from another origin, such as a CDN, nor in a frame
 * without an origin: there, a module of this origin imports it.
 */

/** Starts the worker of an engine without threads. */
export function startWorker(): Worker {
  // Bundlers look for exactly this expression; in the package the client is one file beside it.
  return (
    startElsewhere("worker.js") ??
    new Worker(new URL("./worker.js", import.meta.url), { type: "module" })
  );
}

/** Starts the worker of an engine with threads. */
export function startThreads(): Worker {
  return (
    startElsewhere("threads.js") ??
    new Worker(new URL("./threads.js", import.meta.url), { type: "module" })
  );
}

/** Starts a script that is beside this one on another origin; undefined if they are on this one. */
function startElsewhere(name: string): Worker | undefined {
  const here = import.meta.url;
  // A sandboxed frame has no origin, whatever its address says.
  if (!here.startsWith("http") || new URL(here).origin === globalThis.origin) return undefined;
  const { href } = new URL(name, here);
  const script = `import ${JSON.stringify(href)};`;
  if (globalThis.origin === "null") {
    // There Chromium starts no module from a blob.
    return new Worker(`data:text/javascript,${encodeURIComponent(script)}`, { type: "module" });
  }
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(url, { type: "module" });
  worker.addEventListener("message", () => URL.revokeObjectURL(url), { once: true });
  return worker;
}

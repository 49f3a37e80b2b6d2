/**
 * Starting a worker from another origin, such as a CDN, or in a frame without an origin: no browser does, but a module
 * of this origin can import it.
 */

/** Starts the script at that address. */
export function startElsewhere({ href }: URL): Worker {
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

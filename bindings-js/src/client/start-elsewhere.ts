/**
 * Starting a worker from another origin, such as a CDN, or in a frame without an origin. No browser starts one
 * directly, but a module of this origin can import its script.
 */

/** Starts the script at that address. */
export function startElsewhere({ href }: URL): Worker {
  const script = `import ${JSON.stringify(href)};`;
  if (globalThis.origin === "null") {
    // In a frame without an origin Chromium starts no module from a blob.
    return new Worker(`data:text/javascript,${encodeURIComponent(script)}`, { type: "module" });
  }
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(url, { type: "module" });
  worker.addEventListener("message", () => URL.revokeObjectURL(url), { once: true });
  return worker;
}

/** The thread of a store: what a browser's worker does, over the addon. */

import { parentPort } from "node:worker_threads";
import type { Requests } from "../codec/flat.ts";
import { receive } from "../worker/serve.ts";

const page = parentPort!;
// The name by which a worker of a browser knows itself.
Object.assign(globalThis, {
  self: {
    postMessage: (replies: unknown, buffers: ArrayBuffer[] = []) =>
      page.postMessage(replies, buffers),
  },
});
page.on("message", (message: Requests) => receive(message));

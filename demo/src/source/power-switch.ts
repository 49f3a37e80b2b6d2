/** In a worker on the browser's private files: has the power fail when the page says so. */

import { losePower } from "./unsynced-files.ts";

/** Message of the page: the port for a reply with the number of lost bytes. */
export interface PowerOff {
  losePower: MessagePort;
}

addEventListener("message", (event: MessageEvent<PowerOff | unknown[]>) => {
  if (Array.isArray(event.data)) return;
  // It is not for the store.
  event.stopImmediatePropagation();
  event.data.losePower.postMessage(losePower());
});

/** In a worker on the browser's private files: has the power fail when the page says so. */

import { losePower } from "./unsynced-files.ts";

/** What the page says: where to reply how many bytes were lost. */
export interface PowerOff {
  losePower: MessagePort;
}

addEventListener("message", (event: MessageEvent<PowerOff | unknown[]>) => {
  if (Array.isArray(event.data)) return;
  // It is not for the store.
  event.stopImmediatePropagation();
  event.data.losePower.postMessage(losePower());
});

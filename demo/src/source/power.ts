/** The power of a store on this browser's files, which can fail. */

import type { PowerOff } from "./power-switch.ts";

/** The power of one store. */
export class Power {
  #worker: Worker | undefined;

  /** Starts the store's worker. */
  readonly start = (): Worker => {
    this.#worker = new Worker(new URL("./power-worker.ts", import.meta.url), { type: "module" });
    return this.#worker;
  };

  /** Fails: files have what was synced, and the worker has ended. Returns how many bytes were lost. */
  async fail(): Promise<number> {
    const worker = this.#worker;
    if (worker === undefined) return 0;
    const { port1, port2 } = new MessageChannel();
    const lost = new Promise<number>((lost) => {
      port1.onmessage = ({ data }: MessageEvent<number>) => lost(data);
    });
    worker.postMessage({ losePower: port2 } satisfies PowerOff, [port2]);
    const bytes = await lost;
    worker.terminate();
    return bytes;
  }
}

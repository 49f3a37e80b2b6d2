/** Tabs that share a store. */

import type { Page } from "./fixtures.ts";

/** Opens the store in a tab. However slow the machine is, the tab waits for whoever leads. */
export async function opened(page: Page, name: string): Promise<Page> {
  await page.evaluate(async (name) => {
    window.db = await window.terrane.open(name, { timeout: 120_000 });
  }, name);
  return page;
}

/** Waits until a tab has that role. */
export async function become(page: Page, role: "leader" | "follower"): Promise<void> {
  await page.waitForFunction((role) => window.db.role === role, role);
}

/** Calls of a worker that `openMuted` started. */
export interface Worked {
  /** From now on, others get no reply. */
  mute(): Promise<void>;
  terminate(): void;
}

/**
 * Opens a store in a tab that leads, with a worker that can be muted and terminated; `forgets` has it record no write.
 */
export function openMuted(page: Page, name: string, forgets: boolean): Promise<void> {
  return page.evaluate(
    async ({ name, forgets }) => {
      const script = `
        import "${location.origin}/terrane/dist/worker.js";
        let muted = false;
        globalThis.BroadcastChannel = class extends BroadcastChannel {
          set onmessage(serve) {
            super.onmessage = ({ data }) => {
              if (${forgets} && Array.isArray(data)) for (const request of data) delete request.once;
              serve({ data });
            };
          }
          postMessage(message) {
            if (!muted) super.postMessage(message);
          }
        };
        const gate = new globalThis.BroadcastChannel("gate");
        gate.onmessage = () => {
          gate.postMessage("muted");
          muted = true;
        };`;
      const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      let started: Worker | undefined;
      const worker = () => (started = new Worker(url, { type: "module" }));
      window.db = await window.terrane.open(name, { worker, policies: "all", timeout: 120_000 });
      const gate = new BroadcastChannel("gate");
      const mute = () =>
        new Promise((done) => {
          gate.onmessage = done;
          gate.postMessage("mute");
        });
      const terminate = () => started?.terminate();
      Object.assign(window, { worked: { mute, terminate } });
    },
    { name, forgets },
  );
}
